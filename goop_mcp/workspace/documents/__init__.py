"""The documents of a project, read tolerantly into frozen values: any order, any case, missing parts (WORKFLOW, 6)."""
