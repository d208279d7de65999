"""The root of the project's errors, and those that speak of data.

It lives in the lowest package so that every layer can raise from one tree without importing a higher one. This module imports
nothing: the mathematics may use it without dragging pandas along.
"""


class TrackerError(Exception):
    """Root of every error that a user can cause and mend. The command line prints it on one line and exits with 2."""


class DataError(TrackerError, ValueError):
    """Prices, dates or a file are not what a market panel can hold."""


class UniverseError(TrackerError, ValueError):
    """A symbol or a target that was asked for is absent, repeated or of the wrong kind."""


class DataWarning(UserWarning):
    """Something of the data was left out, and what; the command line prints it on one line and goes on."""
