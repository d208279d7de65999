"""Benchmarks of the mathematics: one round of a learner, and its parts."""
