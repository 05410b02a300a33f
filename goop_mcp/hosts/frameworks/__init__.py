"""Agent frameworks: a few lines each, on the framework's own extension point.

Import the module that you need.

Nothing here imports a framework but the module named for it.
"""
