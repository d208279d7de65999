"""backtrader feeds over a panel."""
