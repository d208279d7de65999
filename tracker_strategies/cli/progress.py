"""Live progress of a sweep: a bar with an estimate of the end for people, a line now and then for log files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

from tracker_strategies.cli.terminal import Terminal, progress_text
from tracker_strategies.research.sweeps.running.driver import Watcher

#: Seconds between two updates of the bar, and between two lines of a log.
TICK, LINE = 0.2, 30.0


@contextmanager
def watching(console: Terminal) -> Iterator[Watcher]:
    """A watcher that draws on the console if it is a terminal, and prints lines if it is not."""
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (progress_text("cells"), BarColumn(), MofNCompleteColumn(), progress_text("{task.fields[failed]}", "red"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        yield Bar(progress, console)


class _Counting:
    """Counts cells and says when it is time to show them."""

    def __init__(self, every: float, console: Terminal) -> None:
        self.console = console
        self.total = self.before = self.ran = self.failed = 0
        self._every, self._next, self.start = every, 0.0, time.monotonic()

    def begin(self, total: int, done: int) -> None:
        """So many cells, so many of them were done before."""
        self.total, self.before = total, done
        self._maybe_show()

    def row(self, row: dict[str, Any]) -> None:
        """One more."""
        self.ran += 1
        self.failed += row["status"] != "ok"
        self._maybe_show()

    def stopping(self) -> None:
        """It was asked to stop."""
        self.console.print("stopping when the running cells are finished; press Ctrl-C again to abort them")

    def _maybe_show(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._every
            self.show()

    def show(self) -> None:
        """Tell."""
        raise NotImplementedError


class Bar(_Counting):
    """A progress bar."""

    def __init__(self, progress: Progress, console: Terminal) -> None:
        super().__init__(TICK, console)
        self._progress = progress
        self._task = progress.add_task("cells", total=None, failed="")

    def show(self) -> None:
        """Draw."""
        failed = f"{self.failed} failed" if self.failed else ""
        self._progress.update(self._task, total=self.total, completed=self.before + self.ran, failed=failed)


class Lines(_Counting):
    """A line every half minute."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(LINE, console)
        self._next = time.monotonic() + LINE

    def show(self) -> None:
        """Print."""
        done, rate = self.before + self.ran, self.ran / max(1e-9, time.monotonic() - self.start)
        left = f", about {(self.total - done) / rate:.0f} s left" if rate else ""
        self.console.print(
            f"{done:,} of {self.total:,} cells, {self.failed:,} failed, {rate:.3g} a second{left}", highlight=False
        )
