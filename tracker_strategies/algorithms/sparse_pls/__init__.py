"""Incremental sparse partial least squares, and its batch form."""
