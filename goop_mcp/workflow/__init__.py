"""Facts about GoopSpec projects, as tables and pure functions over them."""
