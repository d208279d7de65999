"""Benchmarks of what is said about runs: how often verdicts are right, and what they cost."""
