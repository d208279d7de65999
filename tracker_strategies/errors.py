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
    """Input to a learner or the rebalancer is not finite or has the wrong shape. Nothing was changed by it.

    Examples
    --------
    >>> from tracker_strategies import InputError
    >>> from tracker_strategies.algorithms import PA
    >>> try:
    ...     weights = PA(3).update([0.01, float("nan"), 0.0], 0.01)
    ... except InputError as error:
    ...     print(type(error).__name__)
    ...
    InputError
    """


class AccountError(TrackerError, RuntimeError):
    """The account cannot do what was requested: no value left, no broker, a position that should not exist.

    Examples
    --------
    >>> from tracker_strategies import AccountError
    >>> from tracker_strategies.papertrade import PaperAccount
    >>> try:
    ...     account = PaperAccount("nothing-here")
    ...     result = account.step()
    ... except AccountError as error:
    ...     print(isinstance(error, AccountError))
    ...
    True
    """


class MissingExtraError(TrackerError, ImportError):
    """An optional part is needed that is not installed; the message names the extra to install.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import MissingExtraError, backtest, tearsheet
    >>> try:
    ...     page = tearsheet(backtest(load_sample().rows(0, 100), "equal-weight"), "page.html")
    ... except MissingExtraError as error:  # QuantStats is not installed
    ...     print(error)
    ...
    """


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
