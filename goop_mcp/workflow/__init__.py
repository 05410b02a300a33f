"""Facts about GoopSpec projects as tables and pure functions: phases, gates, commands, agents, task ids (WORKFLOW)."""
