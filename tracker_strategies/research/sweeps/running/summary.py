"""How a sweep ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Summary:
    """How a sweep ended: cells in all, those that had rows before, run now, failed now, whether it was stopped, and how many of
    those before had failed.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, run_sweep
    >>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=120",))
    >>> summary = run_sweep(sweep, "sweep", jobs=1)
    >>> summary.ran, summary.failed
    (3, 0)
    """

    folder: Path
    total: int
    before: int
    ran: int
    failed: int
    stopped: bool = False
    failed_before: int = 0

    @property
    def nothing_went_well(self) -> bool:
        """Whether every cell failed."""
        return 0 < self.total <= self.failed + self.failed_before
