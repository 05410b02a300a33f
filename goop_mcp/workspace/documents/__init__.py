"""Tolerant parsers of a project's documents: any order, any case, missing parts."""
