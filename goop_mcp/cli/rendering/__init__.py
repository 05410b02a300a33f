"""Render results for people and for other programs, one format a file."""
