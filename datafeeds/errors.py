"""The root of the project's errors, and those that speak of data and of files.

It lives in the lowest package so that every layer can raise from one tree without importing a higher one. This module imports
nothing: the mathematics may use it without dragging pandas along.
"""


class TrackerError(Exception):
    """Base of every error that a user can cause and correct. The command line prints it on one line and exits with code 2."""


class DataError(TrackerError, ValueError):
    """Prices, dates or a file are not what a market panel can hold."""


class UniverseError(TrackerError, ValueError):
    """A requested symbol or target is absent, repeated or of the wrong kind."""


class ParameterError(TrackerError, ValueError):
    """A parameter is outside its domain, unknown, or of the wrong type."""


class OutputError(TrackerError, OSError):
    """A result cannot be written to the place that was given. Nothing half-written is left behind."""


class LockedError(TrackerError, RuntimeError):
    """Another process is using it: a series of the price cache, a sweep, a paper account. The message names the process."""


class TrackerWarning(UserWarning):
    """Base of every warning of the project. The run continues."""


class OldNameWarning(TrackerWarning, FutureWarning):
    """An old spelling of a name, an option or a parameter; the message has the new one. The next minor version refuses it."""


class PageWarning(TrackerWarning, RuntimeWarning):
    """A part of a page could not be drawn; the rest of the page, and the figures, are there."""


class DataWarning(TrackerWarning):
    """Part of the data was left out; the message says which. The command line prints it on one line and continues."""


class ReadingNote(DataWarning):
    """What the reader of a file guessed: separators, decimal mark, order of dates. The command line prints it on one line."""
