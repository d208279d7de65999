"""Points between which a step may die. A step that was killed at any of them must be finished by running it again.

With ``TRACKER_PAPER_KILL_AT=n`` in the environment the process kills itself (SIGKILL, nothing is cleaned up) when it passes the
n-th point: before and after each commit of the journal, and before and after each call that changes something at the broker.
"""

from __future__ import annotations

import os
import signal

ENVIRONMENT = "TRACKER_PAPER_KILL_AT"

_count = 0


def reached(point: str) -> None:
    """A point at which tests let a step die."""
    global _count
    wanted = os.environ.get(ENVIRONMENT)
    if wanted is None:
        return
    _count += 1
    if _count == int(wanted):
        os.write(2, f"killed at point {_count}: {point}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
