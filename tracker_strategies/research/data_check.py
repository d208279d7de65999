"""What ``tracker data check`` finds in a panel: whether the prices can be trusted, and what tracking with them can reach."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from datafeeds import CleaningReport, MarketPanel, SessionReport, check_sessions, clean, open_source
from datafeeds.cleaning.report import SHOWN
from datafeeds.errors import DataWarning
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp

FloatArray = NDArray[np.float64]
#: Names that a line of the report shows before it says how many more there are.
FEW = 5


def run_check(
    source: str, targets: Sequence[str], *, exchange: str | None, members: str | None, adjust: str, as_json: bool
) -> None:
    """Open a source, look at it and print the report. Holes are not refused here: to find them is the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the report says it
        panel = open_source(source, targets, gaps="freeze", adjust=adjust, members=members)
    report = clean(panel, policy="flag")[1]
    sessions = None if exchange is None else check_sessions(panel, exchange)
    found = check_panel(panel, report, sessions)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        show(found, report, sessions)


def check_panel(panel: MarketPanel, report: CleaningReport, sessions: SessionReport | None = None) -> dict[str, Any]:
    """The report as plain data, for JSON.

    Keys: ``source``, ``first``, ``last``, ``n_bars``, ``n_assets``, ``targets``, ``periods_per_year``, ``dropped``; ``cut``
    (bars of the source before every target has begun, or after one has ended, which no run uses); ``coverage``
    (share of all dates and assets with a bar, and of the assets with one on every date); ``gaps`` (symbol to the number of dates
    without a bar between two bars); ``listings`` and ``delistings`` (symbol to its first bar after the first date, its last
    before the last); ``joined`` and ``left`` (changes of the members in the period, where a list of them is given);
    ``survivorship_warning``; ``cleaning`` (:meth:`datafeeds.CleaningReport.as_dict`); ``tracking`` (one entry per target:
    :func:`tracking_floor`); ``sessions`` (:meth:`datafeeds.SessionReport.as_dict` or None).
    """
    has, T = panel.has_bar, panel.n_bars
    first, last = has.argmax(axis=0), T - 1 - has[::-1].argmax(axis=0)
    holes = (last - first + 1) - has.sum(axis=0)
    joined = left = 0
    if panel.members is not None:
        joined = int((panel.members[1:] & ~panel.members[:-1]).sum())
        left = int((panel.members[:-1] & ~panel.members[1:]).sum())
    delisted = {panel.symbols[i]: panel.day(int(last[i])) for i in np.flatnonzero(last < T - 1)}
    return {
        "source": panel.source,
        "first": panel.day(0),
        "last": panel.day(-1),
        "n_bars": T,
        "n_assets": panel.n_assets,
        "targets": list(panel.targets),
        "periods_per_year": panel.periods_per_year,
        "dropped": dict(panel.dropped),
        "cut": list(panel.cut),
        "coverage": {"bars": float(has.mean()), "complete_assets": float(has.all(axis=0).mean())},
        "gaps": {panel.symbols[i]: int(holes[i]) for i in np.argsort(-holes, kind="stable") if holes[i]},
        "listings": {panel.symbols[i]: panel.day(int(first[i])) for i in np.flatnonzero(first)},
        "delistings": delisted,
        "joined": joined,
        "left": left,
        "survivorship_warning": not delisted and not left,
        "cleaning": report.as_dict(),
        "tracking": {name: tracking_floor(panel, j) for j, name in enumerate(panel.targets)},
        "sessions": None if sessions is None else sessions.as_dict(),
    }


def tracking_floor(panel: MarketPanel, target: int = 0) -> dict[str, Any]:
    r"""How close the assets come to a target.

    Returns
    -------
    dict
        - ``equal_weight_correlation``: of the returns of the equal-weight portfolio, rebalanced on every bar among the names that
          have a return, with those of the target; None where one of them never moves.
        - ``equal_weight_te_rms``: root mean square of the difference, per bar.
        - ``floor_te_rms``: the least that constant long-only weights reach in hindsight,
          :math:`\min_{w \ge 0, \sum w = 1} \sqrt{\frac1T \sum_t (w^\top x_t - y_t)^2}`. No long-only portfolio with constant
          weights tracks these data better; what learns online should be compared with this, not with zero.
        - ``floor_names``: how many names it holds.
        - ``floor_assets``: of how many it could choose: those with a bar on every date on which the target has a level.
          With more of them than ``n_returns`` it says little about the future.
        - ``n_returns``: returns that were compared.
    """
    seen = np.arange(panel.n_bars) if panel.target_seen is None else np.flatnonzero(panel.target_seen[:, target])
    level, close = panel.target_close[seen, target], panel.close[seen]
    y, X = level[1:] / level[:-1] - 1.0, close[1:] / close[:-1] - 1.0
    some = np.isfinite(X).any(axis=1)
    equal = np.nanmean(X[some], axis=1)
    spread = float(equal.std() * y[some].std()) if some.any() else 0.0
    correlation = float(np.mean((equal - equal.mean()) * (y[some] - y[some].mean())) / spread) if spread else None
    whole = X[:, np.isfinite(X).all(axis=0)]
    floor, names = None, 0
    if whole.size:
        scale = 1.0 / max(float(np.abs(whole).max()), 1e-300)  # returns of 1e-3 have squares of 1e-6
        Z, z = whole * scale, y * scale
        w, _ = solve_simplex_qp(Z.T @ Z, Z.T @ z)
        floor, names = _rms(whole @ w - y), int((w > 1e-12).sum())
    return {
        "equal_weight_correlation": correlation,
        "equal_weight_te_rms": _rms(equal - y[some]) if some.any() else None,
        "floor_te_rms": floor,
        "floor_names": names,
        "floor_assets": whole.shape[1],
        "n_returns": len(y),
    }


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values * values)))


def show(found: dict[str, Any], report: CleaningReport, sessions: SessionReport | None) -> None:
    """Print the report for people."""
    console = Console(highlight=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()

    def row(name: str, text: str) -> None:
        table.add_row(name, text)

    row("source", f"{found['source']}: {found['n_bars']} bars x {found['n_assets']} assets, {found['first']} to {found['last']}")
    for left in found["cut"]:
        row("[yellow]left off[/]", f"[yellow]{escape(left)}[/]")
    row("bars a year", f"{found['periods_per_year']:g}")
    row(
        "coverage",
        f"{found['coverage']['bars']:.2%} of all bars; {found['coverage']['complete_assets']:.0%} of the assets are complete",
    )
    row("gaps", _listed(found["gaps"], "no holes inside any series", total=True))
    row("listings", _listed(found["listings"], "none after the first date"))
    row("delistings", _listed(found["delistings"], "none before the last date"))
    if found["joined"] or found["left"]:
        row("members", f"{found['joined']} joined and {found['left']} left the index in this period")
    if found["dropped"]:
        row("dropped", _listed(found["dropped"], ""))
    if found["survivorship_warning"]:
        row(
            "[yellow]survivorship[/]",
            "[yellow]no name ever leaves: these assets were probably chosen because they survived. Expect excess returns that "
            "nobody could have earned; bring the names that left, or --members with their dates.[/]",
        )
    for name, t in found["tracking"].items():
        corr = "-" if t["equal_weight_correlation"] is None else f"{t['equal_weight_correlation']:.3f}"
        row(f"{name}", f"equal weights: correlation {corr}, tracking error {_bp(t['equal_weight_te_rms'])} bp a bar (RMS)")
        loose = "; more assets than returns: it says little about the future" if t["floor_assets"] > t["n_returns"] else ""
        row(
            "",
            f"floor in hindsight, long-only: {_bp(t['floor_te_rms'])} bp a bar with {t['floor_names']} of "
            f"{t['floor_assets']} complete assets{loose}",
        )
    if sessions is not None:
        row("sessions", str(sessions))
    console.print(table)
    console.print(report.table(SHOWN), markup=False, soft_wrap=True)


def _bp(value: float | None) -> str:
    return "-" if value is None else f"{1e4 * value:.2f}"


def _listed(names: dict[str, Any], none: str, *, total: bool = False) -> str:
    if not names:
        return none
    shown = ", ".join(f"{name} ({value})" for name, value in list(names.items())[:FEW])
    many = f"{sum(names.values())} in {len(names)} series" if total else f"{len(names)}"
    return f"{many}: {shown}{', ...' if len(names) > FEW else ''}"
