"""The limits of memories and of searches for them, for the core, the tools and the command line."""

from typing import Final

__all__ = [
    "LARGEST_CONTENT",
    "LONGEST_ITEM",
    "LONGEST_NAME",
    "MOST_CONCEPTS",
    "MOST_FACTS",
    "MOST_QUERIES",
    "MOST_RESULTS",
    "MOST_SOURCE_FILES",
    "RANKED",
]

LARGEST_CONTENT: Final = 64 * 1024
"""Bytes of a memory's content in UTF-8, after redaction."""

LONGEST_NAME: Final = 200
"""Characters of a concept, an agent, a session or a key."""

LONGEST_ITEM: Final = 4096
"""Characters of a fact or a source file."""

MOST_CONCEPTS: Final = 32
MOST_FACTS: Final = 32
MOST_SOURCE_FILES: Final = 64

MOST_QUERIES: Final = 8
"""Phrasings of the question in one search."""

MOST_RESULTS: Final = 50
"""Memories that a search returns."""

RANKED: Final = 100
"""Memories in the ranked list of each phrasing, before the lists are combined."""
