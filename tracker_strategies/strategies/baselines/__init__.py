"""Baselines as Strategies."""
