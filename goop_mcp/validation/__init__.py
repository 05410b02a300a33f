"""The pure core: text in, verdict out.

Nothing in here reads a file, opens a socket, starts a process or raises on an agent's text: any
exception that leaves this package for a `str` is a bug of ours.
"""
