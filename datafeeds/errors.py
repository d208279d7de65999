"""The root of the project's errors, and those that speak of data and of files.

It lives in the lowest package so that every layer can raise from one tree without importing a higher one. This module imports
nothing: the mathematics may use it without dragging pandas along.
"""


class TrackerError(Exception):
    """Base of every error that a user can cause and correct. The command line prints it on one line and exits with code 2.

    Examples
    --------
    >>> from datafeeds import TrackerError, open_source
    >>> try:
    ...     open_source("missing.csv")
    ... except TrackerError as error:
    ...     print(type(error).__name__)
    ...
    DataError
    """


class DataError(TrackerError, ValueError):
    """Prices, dates or a file are not what a market panel can hold.

    Examples
    --------
    >>> from datafeeds import DataError, MarketPanel, load_sample
    >>> frame = load_sample().to_frame().iloc[:50].copy()
    >>> frame.iloc[10, 3] = -1.0
    >>> try:
    ...     panel = MarketPanel.from_frame(frame)
    ... except DataError as error:
    ...     print(type(error).__name__)
    ...
    DataError
    """


class UniverseError(TrackerError, ValueError):
    """A requested symbol or target is absent, repeated or of the wrong kind.

    Examples
    --------
    >>> from datafeeds import UniverseError, load_sample
    >>> try:
    ...     load_sample().column("NFLX")
    ... except UniverseError as error:
    ...     print(type(error).__name__)
    ...
    UniverseError
    """


class ParameterError(TrackerError, ValueError):
    """A parameter is outside its domain, unknown, or of the wrong type.

    Examples
    --------
    >>> from tracker_strategies import ParameterError, CostModel
    >>> try:
    ...     CostModel(bps=-1)
    ... except ParameterError as error:
    ...     print(error)
    ...
    cost bps=-1 must be a finite number >= 0
    """


class OutputError(TrackerError, OSError):
    """A result cannot be written to the place that was given. Nothing half-written is left behind.

    Examples
    --------
    >>> from datafeeds import OutputError, load_sample
    >>> from tracker_strategies import backtest, tearsheet
    >>> try:
    ...     tearsheet(backtest(load_sample().rows(0, 100), "equal-weight"), ".")
    ... except OutputError as error:
    ...     print(type(error).__name__)
    ...
    OutputError
    """


class LockedError(TrackerError, RuntimeError):
    """Another process is using it: a series of the price cache, a sweep, a paper account. The message names the process.

    Examples
    --------
    >>> from datafeeds import LockedError
    >>> from tracker_strategies.papertrade import PaperAccount
    >>> account = PaperAccount.create("account", "pa", "sample", replay="2022-12-20")
    >>> try:
    ...     result = account.step()
    ... except LockedError as error:  # another process has the account
    ...     print(error)
    ...
    """


class TrackerWarning(UserWarning):
    """Base of every warning of the project. The run continues.

    Examples
    --------
    >>> import warnings
    >>> from datafeeds import TrackerWarning
    >>> with warnings.catch_warnings():
    ...     warnings.filterwarnings("error", category=TrackerWarning)  # every warning of the project becomes an error
    ...
    """


class OldNameWarning(TrackerWarning, FutureWarning):
    """An old spelling of a name, an option or a parameter; the message has the new one. The next minor version refuses it.

    Examples
    --------
    >>> import warnings
    >>> from datafeeds import OldNameWarning, load_sample
    >>> from tracker_strategies import backtest
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     record = backtest(load_sample().rows(0, 60), "pa", {"coordinates": "holdings"})
    ...
    >>> issubclass(seen[0].category, OldNameWarning)
    True
    """


class PageWarning(TrackerWarning, RuntimeWarning):
    """A part of a page could not be drawn; the rest of the page, and the figures, are there.

    Examples
    --------
    >>> import warnings
    >>> from datafeeds import PageWarning
    >>> with warnings.catch_warnings():
    ...     warnings.filterwarnings("ignore", category=PageWarning)
    ...
    """


class DataWarning(TrackerWarning):
    """Part of the data was left out; the message says which. The command line prints it on one line and continues.

    Examples
    --------
    >>> import warnings
    >>> from datafeeds import DataWarning
    >>> with warnings.catch_warnings():
    ...     warnings.filterwarnings("ignore", category=DataWarning)
    ...
    """


class ReadingNote(DataWarning):
    """What the reader of a file guessed: separators, decimal mark, order of dates. The command line prints it on one line."""
