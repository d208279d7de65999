"""Prices from Yahoo, with a cache."""
