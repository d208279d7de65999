"""Regressions as Strategies."""
