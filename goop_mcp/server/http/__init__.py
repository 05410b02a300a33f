"""The server on a network: who may reach it, how much each may ask, and how it starts and stops."""
