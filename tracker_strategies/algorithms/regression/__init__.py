"""Regressions on discounted moments, mapped to portfolios."""
