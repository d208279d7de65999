"""Weights to orders: costs, rebalancer, schedules, fill modes, and the desk that reaches the broker."""
