"""Verdicts as text, one format a file."""
