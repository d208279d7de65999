"""Where the tracking error comes from, as tables of a page."""

from __future__ import annotations

import numpy as np
import pandas as pd

from datafeeds.bar_length import moment
from tracker_strategies.analysis.attribution.ladder import CASH, CAUSES, COSTS, NO_SECTOR, UNEXPLAINED, Attribution
from tracker_strategies.analysis.pages.page import Bar, Cell, Table, Word
from tracker_strategies.analysis.pages.words import bp, percent

#: Names and bars that are shown.
MOST = 10
#: What each cause is.
MEANINGS = {
    "learning": "what the algorithm chose, against the index",
    "limits": "what the mandate made of it",
    "waiting": "schedule, band, turnover limit and price of trading",
    "lots": "whole lots",
    "fills": "prices and time of the fills, orders not filled",
    "costs": "fees, slippage and impact",
}
#: Lines that are no names, in words.
_LINES = {
    CASH: "Cash",
    COSTS: "Costs",
    UNEXPLAINED: "Index not explained by its published weights",
    NO_SECTOR: "No sector known",
}
#: How to read them.
EXPLAINED = (
    "Shares are of the sum of squared active returns. They sum to 100 % and may be negative, where an effect works against the "
    "others. Effects over the whole period are linked (Carino) and sum to the tracking difference."
)


def attribution_tables(found: Attribution) -> list[tuple[str, Table]]:
    """By cause; the names that cost most, and what known weights of the index leave unexplained; sectors, where they are known;
    and the worst bars with the names responsible.
    """
    tables = [("By cause", _effects("Cause", found, found.causes, MEANINGS))]
    names = found.names.drop(columns=[line for line in (CASH, COSTS, UNEXPLAINED) if line in found.names])
    shares = found.shares(names).sort_values(ascending=False, kind="stable")
    most = list(shares.index[:MOST])
    own = [UNEXPLAINED] if UNEXPLAINED in found.names else []
    others = found.names.drop(columns=most + own)
    shown = found.names[most].assign(**{f"{len(others.columns)} other lines, with cash and costs": others.sum(axis=1)})
    shown[own] = found.names[own]
    tables.append(("By name: those that cost most", _effects("Name", found, shown)))
    if found.sectors:
        sectors = found.by_sector
        apart = [line for line in (NO_SECTOR, CASH, COSTS, UNEXPLAINED) if line in sectors]
        largest = found.shares(sectors.drop(columns=apart)).sort_values(ascending=False, kind="stable").index
        tables.append(("By sector", _effects("Sector", found, sectors[[*largest, *apart]])))
    return [*tables, ("The worst bars", _worst(found, names))]


def _effects(first: str, found: Attribution, effects: pd.DataFrame, notes: dict[str, str] | None = None) -> Table:
    shares, linked = found.shares(effects), found.linked(effects)
    widest = max(float(shares.abs().max()), 1e-12)
    rows: list[list[Word]] = []
    for name, share, effect in zip(map(str, effects.columns), shares.tolist(), linked.tolist(), strict=True):
        head = Cell(_LINES.get(name, name), (notes or {}).get(name, ""))
        own = Cell(percent(effect, 2, sign=True), value=effect)
        rows.append([head, Bar(share / widest), Cell(percent(share, 1), value=share), own])
    whole = float(linked.sum())
    rows.append(["Sum", "", Cell(percent(float(shares.sum()), 1)), Cell(percent(whole, 2, sign=True), value=whole)])
    return Table([first, "", "Share of the squared error", "Effect over the period"], rows, own=(len(rows) - 1,))


def _worst(found: Attribution, names: pd.DataFrame) -> Table:
    active, own, causes = found.active, names.to_numpy(), found.causes.to_numpy()
    rows: list[list[Word]] = []
    for t in np.argsort(-np.abs(active), kind="stable")[:MOST].tolist():
        towards = own[t] * np.sign(active[t])
        guilty = [i for i in np.argsort(-towards, kind="stable")[:3].tolist() if towards[i] > 0.0]
        cause = int(np.abs(causes[t]).argmax())
        active_return = Cell(bp(float(active[t])), value=float(active[t]))
        words = ", ".join(f"{names.columns[i]} {bp(float(own[t, i]))}" for i in guilty)
        rows.append([moment(found.dates[t]), active_return, f"{CAUSES[cause]} {bp(float(causes[t, cause]))}", words])
    return Table(["Bar", "Active return", "Largest cause", "Names responsible"], rows)
