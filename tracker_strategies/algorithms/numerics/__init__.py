"""Numerical building blocks: thresholds, paths, quadratic programmes, experts' weights. They know nothing of portfolios."""
