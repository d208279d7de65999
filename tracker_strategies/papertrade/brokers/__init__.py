"""Brokers, and how orders are sent and settled."""
