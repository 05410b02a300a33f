"""Facts about GoopSpec projects as tables and pure functions: agents, commands, task ids (WORKFLOW)."""
