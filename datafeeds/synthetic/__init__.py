"""Markets made by a formula, with a seed."""
