"""The server on the network."""
