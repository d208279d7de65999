"""Errors and warnings of learners and execution, on top of those of data and files in :mod:`datafeeds.errors`."""

from datafeeds.errors import (
    DataError,
    DataWarning,
    LockedError,
    OldNameWarning,
    OutputError,
    PageWarning,
    ParameterError,
    TrackerError,
    TrackerWarning,
    UniverseError,
)


class InputError(TrackerError, ValueError):
    """Input to a learner or the rebalancer is not finite or has the wrong shape. Nothing was changed by it."""


class AccountError(TrackerError, RuntimeError):
    """The account cannot do what was requested: no value left, no broker, a position that should not exist."""


class MissingExtraError(TrackerError, ImportError):
    """An optional part is needed that is not installed; the message names the extra to install."""


__all__ = [
    "AccountError",
    "DataError",
    "DataWarning",
    "InputError",
    "LockedError",
    "MissingExtraError",
    "OldNameWarning",
    "OutputError",
    "PageWarning",
    "ParameterError",
    "TrackerError",
    "TrackerWarning",
    "UniverseError",
]
