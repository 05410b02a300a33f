"""What must never be lost: one database behind a small interface."""
