"""The papers' experiments with our code."""
