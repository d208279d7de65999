"""What can go wrong between the driver of a sweep and those who work for it."""

from __future__ import annotations

from tracker_strategies.errors import TrackerError


class WorkerError(TrackerError, RuntimeError):
    """Cells cannot be run: no scheduler, no worker, another version of the package, or no process that starts.

    Rows that were finished before are kept; the same command continues from there.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import WorkerError
    >>> issubclass(WorkerError, Exception)
    True
    """


class CellDiedError(TrackerError, RuntimeError):
    """A cell ended the process that ran it, more than once. The error is in the cell's row; the other cells are run.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import CellDiedError
    >>> issubclass(CellDiedError, Exception)
    True
    """


class CellTimeError(TrackerError, TimeoutError):
    """A cell took longer than it may. The error is in the cell's row; the other cells are run.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import CellTimeError
    >>> issubclass(CellTimeError, Exception)
    True
    """
