"""Memories as files: written whole, read back without losing anything in silence."""
