"""Tuning, walk-forward."""
