"""A delegation run compared with the same job in a workflow engine (`make bench-engines`)."""
