"""Errors of learners, execution and results, on top of the data errors of :mod:`datafeeds.errors`."""

from datafeeds.errors import DataError, TrackerError, UniverseError


class ParameterError(TrackerError, ValueError):
    """A parameter is outside its domain, unknown, or of the wrong type."""


class InputError(TrackerError, ValueError):
    """What was handed to a learner or the rebalancer is not finite or of the wrong shape. The receiver's state is untouched."""


class AccountError(TrackerError, RuntimeError):
    """The account cannot do what was asked of it: no value left, no broker, a position that should not exist."""


class OutputError(TrackerError, OSError):
    """A result cannot be written where it was asked for. Nothing half-written is left behind."""


class MissingExtraError(TrackerError, ImportError):
    """An optional part was asked for that is not installed; the message names the extra to install."""


__all__ = [
    "AccountError",
    "DataError",
    "InputError",
    "MissingExtraError",
    "OutputError",
    "ParameterError",
    "TrackerError",
    "UniverseError",
]
