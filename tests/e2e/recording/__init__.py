"""Record what the real clients keep of an agent's work: `make record-hosts`."""
