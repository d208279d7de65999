"""The desk's day."""
