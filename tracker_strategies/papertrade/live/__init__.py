"""The account inside a cerebro of the user's own, and the watch."""
