"""The project folder: read its documents, write ours whole or not at all, report where they disagree (WORKFLOW)."""
