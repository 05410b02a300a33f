"""Delegation graphs: who does what after whom, kept in the store so that a crash loses nothing."""
