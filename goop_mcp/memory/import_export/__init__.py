"""Import and export of memories as files."""
