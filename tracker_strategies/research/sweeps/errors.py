"""What can go wrong between the driver of a sweep and those who work for it."""

from __future__ import annotations

from tracker_strategies.errors import TrackerError


class WorkerError(TrackerError, RuntimeError):
    """Cells cannot be run where they were sent: no scheduler, no worker, another version of the package, a process that died.

    Rows that were finished before are kept; the same command goes on from there.
    """
