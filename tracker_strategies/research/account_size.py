"""How large an account a strategy can run: tracking error, cost and unfilled orders against the size of the account.

The same strategy runs over the same prices with accounts on a logarithmic grid, as cells of the sweep engine. Fills respect what
was traded (:class:`~tracker_strategies.execution.volume.liquidity.Liquidity`), so that a larger account pays more for each trade
and has more of its orders left over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies._checks import count, fraction, number
from tracker_strategies.analysis.metrics import annualised, not_taken
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.volume.liquidity import KEYS
from tracker_strategies.research.sweeps.asking.cells import Cell, Data, Window
from tracker_strategies.research.sweeps.running.engines import LocalEngine
from tracker_strategies.runner import check_run
from tracker_strategies.strategies.registry import full_name

#: How fills depend on volume where nobody says.
LIQUIDITY: Mapping[str, Any] = {"max_participation": 0.1, "impact": "sqrt"}
#: Accounts that a grid may have.
MOST = 100


def account_sizes(smallest: float = 1e5, largest: float = 1e11, per_decade: int = 2) -> tuple[float, ...]:
    """Sizes of accounts from the smallest to the largest, with a given number of them per power of ten.

    Examples
    --------
    >>> from tracker_strategies.research import account_sizes
    >>> account_sizes(1e6, 1e7, 2)
    (1000000.0, 3162277.66, 10000000.0)
    """
    low, high = number("the smallest account", smallest, above=0.0), number("the largest account", largest, above=0.0)
    steps = count("accounts per power of ten", per_decade)
    if not high > low:
        raise ParameterError(f"the largest account ({high:g}) must be larger than the smallest ({low:g})")
    many = round(steps * math.log10(high / low)) + 1
    if not 2 <= many <= MOST:
        raise ParameterError(f"the grid would have {many} accounts; choose sizes that give 2 to {MOST}")
    return tuple(round(float(size), 2) for size in np.geomspace(low, high, many))


def capacity(
    panel: MarketPanel,
    strategy: str = "ensemble",
    params: Mapping[str, Any] | None = None,
    *,
    costs: CostModel | None = None,
    accounts: Sequence[float] | None = None,
    max_cost_bps: float = 10.0,
    max_unfilled: float = 0.05,
    jobs: int | None = None,
    on_row: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Run a strategy with accounts of several sizes; return the figures of each and the largest size that keeps both limits.

    Parameters
    ----------
    panel : MarketPanel
        With volume.
    strategy : str
    params : mapping, optional
        Params of the strategy, including those for fills and volume; by default orders take at most a tenth of a bar's
        volume and move the price by the square-root law with a coefficient of 1.
    costs : CostModel, optional
        Costs in addition to the impact; none by default.
    accounts : sequence of float, optional
        Cash at the start; by default those of :func:`account_sizes`.
    max_cost_bps : float, default 10
        Largest cost of trading per year, in basis points of the account.
    max_unfilled : float, default 0.05
        Largest share of the value of all orders that may stay unfilled. An account that cannot trade pays little, so a
        limit on cost alone is not enough.
    jobs : int, optional
        Processes; all cores by default.
    on_row : callable, optional
        Called after each account.

    Returns
    -------
    dict
        ``strategy``, ``source``, ``days``, ``n_bars`` (that count), ``params``, ``max_cost_bps``, ``max_unfilled``;
        ``capacity``: the largest account up to which both limits are kept, between two of the grid by interpolation, None where
        the smallest breaks one; ``bound``: what ends it, "cost", "unfilled" or "grid" (the largest account keeps both); and
        ``accounts``, one entry each: ``cash``, ``te_rms``, ``te_per_year``, ``cost_bps_per_year``, ``unfilled``, ``invested``
        (mean share of the account in the assets), ``final_value``.

    Notes
    -----
    All accounts are scored on the same bars: beginning with the close at which the smallest reached its target. A large account
    that has not reached its target by then is scored all the same. Unfilled orders are counted from the first bar on.

    Examples
    --------
    >>> from datafeeds import synthetic_market
    >>> from tracker_strategies.research import capacity
    >>> panel = synthetic_market(n_assets=5, n_bars=80, ohlc=True)
    >>> found = capacity(panel, "equal-weight", accounts=(1e4, 1e6), jobs=1)
    >>> [row["cash"] for row in found["accounts"]]
    [10000.0, 1000000.0]
    """
    limit, share = number("max_cost_bps", max_cost_bps, above=0.0), fraction("max_unfilled", max_unfilled, above=0.0)
    sizes = tuple(sorted(set(account_sizes() if accounts is None else map(float, accounts))))
    chosen = {**LIQUIDITY, **(params or {})} if not any((params or {}).get(key) for key in KEYS) else dict(params or {})
    if not sizes:
        raise ParameterError("there are no accounts to compare; give at least one")
    for cash in (sizes[0], sizes[-1]):
        check_run(panel, strategy, chosen, cash)
    records = _records(panel, strategy, chosen, costs or CostModel(), sizes, jobs, on_row)
    base = records[0].entry.row
    if base is None or base >= panel.n_bars - 2:
        raise DataError(
            f"the smallest account ({sizes[0]:,.0f}) does not reach its target within {panel.n_bars} bars, so nothing can be "
            "compared with it; begin with a smaller one, or use a longer history"
        )
    rows = [_figures(record, cash, base) for record, cash in zip(records, sizes, strict=True)]
    ends = {
        "cost": _largest(sizes, [row["cost_bps_per_year"] for row in rows], limit),
        "unfilled": _largest(sizes, [row["unfilled"] for row in rows], share),
    }
    bound = min(ends, key=lambda what: ends[what])
    found = ends[bound]
    return {
        "strategy": strategy,
        "source": panel.source,
        "days": [str(panel.dates[row])[:10] for row in (base + 1, -1)],
        "n_bars": panel.n_bars - 1 - base,
        "params": {key: value for key, value in chosen.items() if value is not None},
        "max_cost_bps": limit,
        "max_unfilled": share,
        "capacity": None if found == 0.0 else min(found, sizes[-1]),
        "bound": "grid" if found == math.inf else bound,
        "accounts": rows,
    }


def _records(
    panel: MarketPanel,
    strategy: str,
    params: Mapping[str, Any],
    costs: CostModel,
    sizes: Sequence[float],
    jobs: int | None,
    on_row: Callable[[], None] | None,
) -> list[RunRecord]:
    """One run per account, by the sweep engine."""
    data = Data("memory", panel.targets, sha=panel.fingerprint())
    window, fill = Window(0, 0, panel.n_bars), str(params.get("fill", "next_open"))
    own = {key: value for key, value in params.items() if key != "fill"}
    cells = [Cell(full_name(strategy), data, window, own, costs, fill, cash=cash) for cash in sizes]
    found: dict[float, RunRecord] = {}
    with LocalEngine(jobs, {data.sha: panel}) as engine:
        for row in engine.run(cells, whole=True):
            if row["status"] != "ok":
                raise DataError(f"an account of {row['cash']:,.0f} could not be run: {row['error']}")
            found[row["cash"]] = row["record"]
            if on_row is not None:
                on_row()
    return [found[cash] for cash in sizes]


def _figures(record: RunRecord, cash: float, base: int) -> dict[str, float]:
    """The figures of one account, from the close of a bar on."""
    value, index = record.value[base:], record.index[base:]
    error = value[1:] / value[:-1] - 1.0 - (index[1:] / index[:-1] - 1.0) @ record.blend
    te, year = math.sqrt(float(np.mean(error**2))), record.periods_per_year
    paid = float(np.mean(record.cost[base + 1 :] / value[:-1]))
    return {
        "cash": cash,
        "te_rms": te,
        "te_per_year": annualised(te, year),
        "cost_bps_per_year": 1e4 * paid * year,
        "unfilled": not_taken(record.unfilled, record.turnover),
        "invested": float(record.weights[base + 1 :].sum(axis=1).mean()),
        "final_value": float(value[-1]),
    }


def _largest(sizes: Sequence[float], figures: Sequence[float], limit: float) -> float:
    """The account at which a figure first passes a limit, going up the grid; 0 where the smallest is over it, infinite where none
    is.
    """
    for i, figure in enumerate(figures):
        if figure > limit:
            if i == 0:
                return 0.0
            # By the square-root law figures are powers of the account's size: straight lines on two logarithmic axes.
            low, high = max(figures[i - 1], 1e-3 * limit), figure
            share = math.log(limit / low) / math.log(high / low)
            return float(sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** share)
    return math.inf
