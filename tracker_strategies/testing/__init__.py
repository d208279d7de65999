"""Checks for learners and strategies, also for those of users."""
