"""The real clients with a scripted model on loopback: `make e2e`, never part of `make test`."""
