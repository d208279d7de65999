"""Gradient learners as Strategies."""
