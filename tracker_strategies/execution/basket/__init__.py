"""All orders of a bar at once, with the outcome of backtrader's own."""
