"""The portfolio that would have tracked best so far, on all names or on a few."""
