"""The recommended tracker, and the one that leans."""
