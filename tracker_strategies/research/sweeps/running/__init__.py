"""How a sweep runs."""
