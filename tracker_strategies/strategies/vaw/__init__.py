"""VAW forecasters as Strategies."""
