"""Portfolios that do not learn, or learn once."""
