"""The papers whose experiments can be run again, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracker_strategies.analysis.pages.page import check_page
from tracker_strategies.analysis.places import check_outside, refuse_other
from tracker_strategies.errors import ParameterError
from tracker_strategies.research.reproductions._steps import Progress

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """Options of the experiments; each uses those that it has.

    Parameters
    ----------
    sets, runs : int
        Data sets of APAS, Monte-Carlo runs of iS-PLS.
    files : tuple of Path
        Prices of real markets.
    seed : int
    progress : callable, optional
        ``progress(done, total)`` after each part of the work.
    """

    sets: int = 50
    runs: int = 20
    files: tuple[Path, ...] = ()
    seed: int = 0
    progress: Progress | None = field(default=None, compare=False)

    def told(self) -> dict[str, Any]:
        """What the results depend on, as plain values; files by what is in them."""
        files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.files if path.is_file()]
        return {"sets": self.sets, "runs": self.runs, "seed": self.seed, "files": files}


def reproduce(paper: str, folder: Path, asked: Asked, *, force: bool = False) -> tuple[Path, Result]:
    """Run a paper's experiments, write ``PAPER.html`` and ``PAPER.json`` into a folder, and return the page and what was found.

    Those of an earlier run of the same experiments are replaced; with ``force``, of any.

    Raises
    ------
    ParameterError, DataError, OutputError
        Before any work, when the paper is unknown, or an argument, a file or the folder cannot be used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tracker_strategies.research import reproduce
    >>> from tracker_strategies.research.reproductions import Asked
    >>> page, found = reproduce("adagrad", Path("runs"), Asked())
    >>> page.name
    'adagrad.html'
    """
    if paper not in PAPERS:
        raise ParameterError(f"unknown paper {paper!r}; choose {', '.join(PAPERS)}")
    check_page(folder / f"{paper}.html")
    check_outside(folder / paper)
    told = asked.told()
    if not force:
        refuse_other(folder / f"{paper}.json", told)
    title, experiments = PAPERS[paper]
    result, parts = experiments(asked)
    from tracker_strategies.research.reproductions.page import write_paper  # draws charts

    return write_paper({**result, "asked": told}, folder, paper, title, **parts), result


def _apas(asked: Asked) -> tuple[Result, dict[str, Any]]:
    from tracker_strategies.research.reproductions.apas.paper import reproduce_apas
    from tracker_strategies.research.reproductions.apas.tables import parts

    market = asked.files[0] if asked.files else None
    found = reproduce_apas(n_sets=asked.sets, seed=asked.seed, nasdaq=market, progress=asked.progress)
    return found, parts(found)


def _adagrad(asked: Asked) -> tuple[Result, dict[str, Any]]:
    from tracker_strategies.research.reproductions.adagrad import reproduce_adagrad

    found = reproduce_adagrad(seed=asked.seed)
    charts = {f"Gradient descent, d = {int(d):,}: cumulated loss by cycle": {"loss": line} for d, line in found["curves"].items()}
    axes = dict.fromkeys(charts, ("Cycle", "Cumulated loss"))
    return {**found, "tables": {"Cumulated losses": found["table"]}, "charts": charts, "axes": axes}, {}


def _vaw(asked: Asked) -> tuple[Result, dict[str, Any]]:
    from tracker_strategies.research.reproductions.vaw import reproduce_vaw

    found = reproduce_vaw(seed=asked.seed)
    charts = {}
    for stream, lines in found["curves"].items():
        shown = {
            name: line["regret"]
            for name, line in lines.items()
            if name in ("gamma 1", "gamma 0.99", "gamma 0.9") or "meta" in name
        }
        charts[f"Regret, {stream}"] = shown
        charts[f"Regret and its bound, {stream}, gamma 0.95"] = lines["gamma 0.95"]
    tables = {"Total losses": found["table"], "Theorem 3.1, term by term": found["split"]}
    return {**found, "tables": tables, "charts": charts, "axes": dict.fromkeys(charts, ("Round", "Regret"))}, {}


def _ispls(asked: Asked) -> tuple[Result, dict[str, Any]]:
    from tracker_strategies.research.reproductions.ispls.paper import reproduce_ispls

    return reproduce_ispls(runs=asked.runs, seed=asked.seed, data=asked.files, progress=asked.progress), {}


#: By name: the title of the page, and what runs the experiments.
PAPERS: dict[str, tuple[str, Callable[[Asked], tuple[Result, dict[str, Any]]]]] = {
    "apas": ("Adaptive passive-aggressive tracking with side information", _apas),
    "adagrad": ("Adaptive subgradient methods", _adagrad),
    "vaw": ("Online regression in dynamic environments via discounting", _vaw),
    "ispls": ("Sparse partial least squares for on-line variable selection", _ispls),
}
