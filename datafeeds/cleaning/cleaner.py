"""Cleaning of prices, with a report and never silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds.choices import CLEANING_POLICIES, check_choice
from datafeeds.cleaning.bad_prices import Suspect, find_jumps, find_no_volume, find_spikes, find_stale
from datafeeds.cleaning.report import CleaningReport, Finding
from datafeeds.errors import DataError
from datafeeds.panel import MarketPanel

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def clean(
    panel: MarketPanel,
    *,
    policy: str = "flag",
    limit: float = 1.0,
    spike: float = 3.0,
    stale: int = 10,
    max_bad: float = 0.1,
    actions: Mapping[str, Iterable[Any]] | None = None,
) -> tuple[MarketPanel, CleaningReport]:
    """Look for suspicious prices and treat them by the policy.

    Parameters
    ----------
    panel : MarketPanel
    policy : {"flag", "drop", "winsorise"}
        - flag: report, change nothing.
        - drop: the bars of a finding become gaps, which is what a trading halt is: the name keeps its weight, is not traded, and
          its returns from and to that bar are not learned. A holder still earns the price change over the gap. A symbol is
          dropped if more than the share `max_bad` of its bars is bad. A stale price is a halt, too, and one that lasts longer
          than a strategy's ``delist_after`` is a delisting.
        - winsorise: a return beyond the limit is cut at the limit and all later prices are rescaled by one factor, so that every
          other return stays what it was; a bad print is set to the close before it. The panel gets no gaps. Stale prices and
          days without volume have no return to cut and are only flagged.
    limit : float, default 1
        Largest return that is accepted: up by more than this, or down by the same factor (1 means doubled or halved) is a `jump`.
    spike : float, default 3
        A print at least this many times the closes before and after it (or at most 1/`spike` of both) is bad, a `spike`.
    stale : int, default 10
        A close repeated on this many bars on which the first target moved is `stale`.
    max_bad : float, default 0.1
        Largest share of bad bars of a symbol under `drop`.
    actions : mapping of symbol to dates, optional
        Corporate actions that explain a return (a spin-off, a merger): on these dates a jump is not a finding.

    Returns
    -------
    panel : MarketPanel
        With the report as its attribute `cleaning`.
    report : CleaningReport
        One row per finding. Targets are checked for spikes and jumps, too, but never changed: a changed target would be another
        index.

    Notes
    -----
    This prepares data; it is not causal. A jump is known when it happens, and cutting it changes no earlier price. That a print
    was bad is known one bar later, when it has reverted; that a price was stale, after `stale` bars; that a symbol has too many
    bad bars, at the end. A live account knows none of this in time, so a backtest on cleaned prices is optimistic by what the
    report lists.

    Examples
    --------
    >>> panel, report = clean(load_sample(), policy="winsorise")  # doctest: +SKIP
    >>> print(report)  # doctest: +SKIP
    cleaning (winsorise): nothing found
    """
    _check(policy, limit, spike, stale, max_bad, actions, panel)
    moved = np.r_[False, panel.target_close[1:, 0] != panel.target_close[:-1, 0]]
    closes, fields = panel.close, {k: v.copy() for k in _FIELDS if (v := getattr(panel, k)) is not None}
    findings: list[Finding] = []
    dropped: dict[str, str] = {}
    for j, name in enumerate(panel.targets):
        rows = np.arange(panel.n_bars) if panel.target_seen is None else np.flatnonzero(panel.target_seen[:, j])
        suspects = _price_suspects(panel.target_close[rows, j], limit, spike, _excused(panel, rows, name, actions))
        findings += _told(panel, name, rows, suspects, dict.fromkeys(_ACTIONS, "flagged; a target is never changed"))
    for i, name in enumerate(panel.symbols):
        rows = np.flatnonzero(panel.has_bar[:, i])
        close = closes[rows, i]
        suspects = _price_suspects(close, limit, spike, _excused(panel, rows, name, actions))
        suspects += find_stale(close, moved[rows], stale)
        if panel.volume is not None:
            suspects += find_no_volume(panel.volume[rows, i])
        if not suspects:
            continue
        told = dict.fromkeys(_ACTIONS, "flagged")
        if policy == "drop":
            bad = np.zeros(len(rows), dtype=bool)
            for s in suspects:
                bad[s.first : s.last + 1] = True
            if bad.mean() > max_bad:
                dropped[name] = f"{int(bad.sum())} of {len(rows)} bars cannot be trusted"
                told = dict.fromkeys(_ACTIONS, "symbol dropped")
            else:
                told = dict.fromkeys(_ACTIONS, "made a gap")
                for values in fields.values():
                    values[rows[bad], i] = np.nan
        elif policy == "winsorise":
            told |= {"spike": "set to the close before", "jump": "cut at the limit"}
            _winsorise(fields, rows, i, suspects, limit)
        findings += _told(panel, name, rows, suspects, told)
    settings = {"limit": limit, "spike": spike, "stale": stale, "max_bad": max_bad}
    report = CleaningReport(policy, settings, tuple(findings), dropped)
    cleaned = replace(panel, cleaning=report, **(fields if policy != "flag" and findings else {}))
    if dropped:
        kept = np.array([name not in dropped for name in panel.symbols])
        if not kept.any():
            raise DataError(
                f"cleaning would drop all {panel.n_assets} assets; raise max_bad, limit or stale, or use policy='flag'"
            )
        cleaned = cleaned.take(kept, "")
        cleaned = replace(cleaned, dropped={**cleaned.dropped, **{k: f"cleaning: {why}" for k, why in dropped.items()}})
    return cleaned, report


_FIELDS = ("close", "open", "high", "low", "volume")
_ACTIONS = ("spike", "jump", "stale", "no volume")


def _price_suspects(close: FloatArray, limit: float, spike: float, excused: BoolArray) -> list[Suspect]:
    spikes = find_spikes(close, spike) & ~excused
    prints = [Suspect("spike", int(t), int(t), float(close[t] / close[t - 1])) for t in np.flatnonzero(spikes)]
    return prints + find_jumps(close, limit, spikes, excused)


def _winsorise(fields: Mapping[str, FloatArray], rows: NDArray[np.int64], i: int, suspects: list[Suspect], limit: float) -> None:
    """Mend the prices of one series in place: bad prints first, then the jumps in the order of time."""
    prices = np.array([fields[k][rows, i] for k in _FIELDS if k in fields and k != "volume"])  # the close is the first
    for s in suspects:
        if s.kind == "spike":
            prices[:, s.first] = prices[0, s.first - 1]
    for s in suspects:
        if s.kind != "jump":
            continue
        t, before = s.first, prices[0, s.first - 1]
        # The whole bar is brought inside the limit, so that low <= open, close <= high still holds.
        bar = np.clip(prices[:, t], before / (1.0 + limit), before * (1.0 + limit))
        prices[:, t:] *= bar[0] / prices[0, t]
        prices[:, t] = bar
    for k, values in zip([k for k in _FIELDS if k in fields and k != "volume"], prices, strict=True):
        fields[k][rows, i] = values


def _told(
    panel: MarketPanel, name: str, rows: NDArray[np.int64], suspects: list[Suspect], told: Mapping[str, str]
) -> list[Finding]:
    ordered = sorted(suspects, key=lambda s: (s.first, s.kind))
    return [Finding(name, _moment(panel.dates[rows[s.first]]), s.kind, s.value, told[s.kind]) for s in ordered]


def _moment(date: np.datetime64) -> str:
    day = date.astype("datetime64[D]")
    return str(day if day == date else date.astype("datetime64[m]"))


def _excused(panel: MarketPanel, rows: NDArray[np.int64], name: str, actions: Mapping[str, Iterable[Any]] | None) -> BoolArray:
    if actions is None or name not in actions:
        return np.zeros(len(rows), dtype=bool)
    days = np.array([np.datetime64(day, "D") for day in actions[name]], dtype="datetime64[D]")
    return np.asarray(np.isin(panel.dates[rows].astype("datetime64[D]"), days))


def _check(
    policy: str,
    limit: float,
    spike: float,
    stale: int,
    max_bad: float,
    actions: Mapping[str, Iterable[Any]] | None,
    panel: MarketPanel,
) -> None:
    check_choice("clean", policy, CLEANING_POLICIES)
    for what, value, fits, rule in (
        ("limit", limit, 0.0 < limit < np.inf, "a return > 0, such as 1 for doubled or halved"),
        ("spike", spike, 1.0 < spike < np.inf, "a factor > 1, such as 3"),
        ("stale", stale, stale >= 1 and stale == int(stale), "a number of bars >= 1"),
        ("max_bad", max_bad, 0.0 < max_bad <= 1.0, "a fraction in (0, 1]"),
    ):
        if not fits:
            raise DataError(f"{what}={value!r} must be {rule}")
    unknown = [name for name in actions or () if name not in panel.symbols and name not in panel.targets]
    if unknown:
        raise DataError(f"corporate actions of {unknown[0]!r}, which is not a series of this panel")
