"""Integrations with the hosts and frameworks in which agents run."""
