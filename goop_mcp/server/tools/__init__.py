"""The tools: read the arguments, call the operation, present the value.

The docstrings are what clients read.
"""
