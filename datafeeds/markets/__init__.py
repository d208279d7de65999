"""Several markets in one panel; sessions of exchanges."""
