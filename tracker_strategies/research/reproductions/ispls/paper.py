"""The experiments of the iS-PLS paper, run again: ``tracker reproduce ispls``.

McWilliams, Montana, *Sparse partial least squares regression for on-line variable selection with multivariate data streams*,
2010: simulations of section 4, and of section 5 the portfolio of ten names that follows the S&P 100 and the Nikkei at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tracker_strategies._checks import count
from tracker_strategies.errors import DataError
from tracker_strategies.research.reproductions._steps import Progress, Steps, several, whole
from tracker_strategies.research.reproductions.ispls.claims import CITATION, simulation_claims
from tracker_strategies.research.reproductions.ispls.market import (
    MEMBERS,
    RATE,
    SMALL_MEMBERS,
    Market,
    Source,
    bivariate,
    read_market,
    small_portfolio,
)
from tracker_strategies.research.reproductions.ispls.market_claims import market_claims, small_claims
from tracker_strategies.research.reproductions.ispls.runs import RIVAL_RUNS, RUNS, Found, run_one
from tracker_strategies.research.reproductions.ispls.summary import accepted, summary
from tracker_strategies.research.reproductions.ispls.tables import axes, charts, tables

MOST_RIVAL_RUNS = 8
"""Runs with recursive LARS unless more are asked for: one takes as long as ten of the others."""


def reproduce_ispls(
    *,
    runs: int = 20,
    rival_runs: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    data: Sequence[Source] = (),
    members: int = MEMBERS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the experiments and return the results, next to those of the paper.

    Parameters
    ----------
    runs : int, default 20
        Monte-Carlo runs of each simulation, >= 2; the paper has 500. Run k of a seed is the same whatever the number.
    rival_runs : int, optional
        Runs in which recursive LARS and the adaptive lasso take part; `runs` by default, but at most 8. 0 leaves them out.
    seed : int, default 0
        Of the simulations and of the random portfolios, >= 0.
    jobs : int, optional
        Processes; all cores by default, 1 stays in this one.
    data : sequence of paths or panels
        None; or one: daily prices of an index, column INDEX, and its names, for portfolios of at most 50 names; or two: the S&P
        100 and the Nikkei, each with its index, for the bivariate experiment; or these three, the daily one last.
    members : int, default 1000
        Random portfolios of the bivariate experiment; at most 200 of the other.
    progress : callable, optional
        ``progress(done, total)`` after each run.

    Returns
    -------
    dict
        ``paper``, ``accepted``, ``claims``, ``tables`` and ``charts`` as
        :func:`~tracker_strategies.research.reproductions.page.write_paper` takes them, and all figures under ``simulations``,
        ``bivariate`` and ``small``. But for seconds it depends on the arguments only.

    Raises
    ------
    ParameterError, DataError
        Before any work.

    Notes
    -----
    A run takes about 12 s of one core, one with rivals 30 s more; the bivariate experiment 20 s, small portfolios a minute, most
    of it for SLAIT.
    """
    several("runs", runs)
    whole("seed", seed)
    rivals = min(runs, MOST_RIVAL_RUNS) if rival_runs is None else whole("rival_runs", rival_runs)
    markets = _markets(data)
    plan = [(name, k) for name in RIVAL_RUNS for k in range(rivals)] + [(name, k) for k in range(runs) for name in RUNS]
    step = Steps(len(plan) + len(markets), progress)
    found: dict[str, list[Found]] = {name: [{}] * (rivals if name in RIVAL_RUNS else runs) for name in (*RUNS, *RIVAL_RUNS)}
    for name, number, outcome in _run_all(plan, int(seed), jobs):
        found[name][number] = outcome
        step()
    simulations = summary(found)
    result: dict[str, Any] = {
        "paper": CITATION,
        "runs": int(runs),
        "rival_runs": int(rivals),
        "seed": int(seed),
        "accepted": accepted(simulations),
        "claims": simulation_claims(simulations),
        "simulations": simulations,
        "bivariate": None,
        "small": None,
    }
    for kind, market in markets.items():
        if kind == "bivariate":
            result[kind] = bivariate(market, members, int(seed))
            result["claims"] += market_claims(result[kind], RATE)
        else:
            result[kind] = small_portfolio(market.X, market.Y[:, 0], members=min(members, SMALL_MEMBERS), seed=int(seed))
            result["claims"] += small_claims(result[kind])
        step()
    drawn = charts(result)
    plain: dict[str, Any] = _plain({**result, "tables": tables(result), "charts": drawn, "axes": axes(drawn)})
    return plain


def _markets(sources: Sequence[Source]) -> dict[str, Market]:
    if len(sources) > 3:
        raise DataError(f"give at most three files: the S&P 100, the Nikkei and a daily market; got {len(sources)}")
    pair = sources[:2] if len(sources) >= 2 else ()
    daily = sources[len(pair) :]
    found = {"bivariate": read_market(pair)} if pair else {}
    return found | ({"small": read_market(daily)} if daily else {})


def _run_all(plan: Sequence[tuple[str, int]], seed: int, jobs: int | None) -> Iterator[tuple[str, int, Found]]:
    """Outcomes as they are finished, in any order; each process computes with one thread."""
    if jobs is not None:
        count("jobs", jobs)
    if jobs == 1:
        yield from (run_one(name, seed, k) for name, k in plan)
        return
    import joblib

    with joblib.parallel_config(backend="loky", n_jobs=jobs or joblib.cpu_count(), inner_max_num_threads=1):
        yield from joblib.Parallel(return_as="generator_unordered")(joblib.delayed(run_one)(name, seed, k) for name, k in plan)


def _plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts only."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value
