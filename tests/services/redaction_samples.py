"""Secrets that tests plant, and texts that must appear nowhere afterwards; none of them is real."""

AWS_KEY = "AKIAIOSFODNN7EXAMPLE"
PASSWORD = "hunter2secret"  # noqa: S105 - made up, to be looked for
ADDRESS = f"postgresql://app:{PASSWORD}@localhost/x"

SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "postgresql://app:hunter2secret@db/app",
    "Authorization: Bearer abcdefghijklmnop0123456789",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    "&lt;private>private part&lt;/private>",
]
NEEDLES = [
    "AKIAIOSF",
    "ghp_16C7",
    "dozjgNry",
    "hunter2secret",
    "abcdefghijklmnop0123456789",
    "MIIEvQIB",
    "private part",
]
