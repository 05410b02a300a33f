"""What a project remembers: saved once and without secrets, found by words, forgotten only when asked."""
