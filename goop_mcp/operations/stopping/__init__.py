"""May an agent end its turn? What a host's hooks ask before a report reaches whoever waits for it."""
