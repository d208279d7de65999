"""The passive-aggressive family as Strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracker_strategies.algorithms import (
    APAS,
    PA,
    PAS,
    SLAIT,
    AlphaSignal,
    Constant,
    Linear,
    MultiplicativePA,
    NegativeLogReturn,
    OnlineAlgorithm,
    Quadratic,
    SideInformation,
    Sum,
    SwitchingCost,
    WeightedL1,
)
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies._limits import limits
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.te_budget import BudgetTuner

#: Trade-off of the switching cost: with the default lam of 1/N and N = 100 the dead zone lam * kappa of a weight is 3e-5.
DEFAULT_KAPPA = 3e-3


class PATracker(TrackerStrategy):
    """Passive-aggressive regression: leaves the weights alone while it tracks within ``eps``, corrects at once when not.

    Params (beside those of :class:`TrackerStrategy`):
      - ``eps`` (1e-4): tolerated tracking error of one bar; 1e-4 is one basis point
      - ``variant`` ("PA"): "PA", "PA-I" (step capped at C) or "PA-II" (step softened by C)
      - ``C`` (None): aggressiveness of PA-I and PA-II; None takes the default for daily returns
      - ``max_weight`` (None): most that one name may weigh
      - ``sectors`` (None): mapping of symbol to sector, with ``max_sector`` (None): most that one sector may weigh
    """

    alias_name = "pa"
    diagnostic_lines: tuple[str, ...] = ("loss", "tau")
    params: Any = (("eps", 1e-4), ("variant", "PA"), ("C", None), ("max_weight", None), ("sectors", None), ("max_sector", None))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """PA on the simplex, within limits where there are any."""
        return PA(len(symbols), eps=p.eps, variant=p.variant, C=p.C, feasible=limits(p, symbols))


class MultiplicativePATracker(TrackerStrategy):
    """Multiplicative passive-aggressive regression: weights move by factors; slow, smooth, and trades little.

    Params (beside those of :class:`TrackerStrategy`):
      - ``eps`` (1e-4): tolerated tracking error of one bar
    """

    alias_name = "multiplicative-pa"
    diagnostic_lines: tuple[str, ...] = ("loss", "tau")
    params: Any = (("eps", 1e-4),)

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """Range scaling, which suits returns."""
        return MultiplicativePA(len(symbols), eps=p.eps)


class PASTracker(PATracker):
    """Passive-aggressive with side information: tracks the index and leans towards what the side information prefers.

    Params (beside those of :class:`PATracker`):
      - ``lam`` (None): how much the side information counts; None means 1/N
      - ``side`` ("log-return"): "log-return" (what has just risen), "switching" (trade little), "signal" (your own view), "none",
        several joined by "+", or a :class:`~tracker_strategies.algorithms.SideInformation` of your own
      - ``log_weight`` (1), ``kappa`` (0.003), ``signal_weight`` (1): factors of these terms; the switching cost is against what
        is really held, so that it prices real turnover
      - ``signal`` (None): callable from a :class:`~tracker_strategies.execution.gate.Bar` to one number per asset. A subclass
        may set ``self.signal_lines`` to one backtrader line per asset instead. No number yet (NaN) is no view
      - ``scale`` (None): "auto" scales thresholds with the volatility of the data, for weekly or intraday bars
      - ``te_budget`` (None): tracking error of a bar that is allowed; lam is then found on the first ``budget_bars`` (250) bars
    """

    alias_name = "pas"
    params: Any = (
        ("lam", None),
        ("side", "log-return"),
        ("log_weight", 1.0),
        ("kappa", DEFAULT_KAPPA),
        ("signal", None),
        ("signal_weight", 1.0),
        ("scale", None),
        ("te_budget", None),
        ("budget_bars", 250),
    )

    @classmethod
    def make_learner(cls, p: Any, symbols: tuple[str, ...]) -> Callable[[float | None], OnlineAlgorithm]:
        """From lam to a fresh learner."""
        side, W = side_information(p), limits(p, symbols)
        return lambda lam: PAS(len(symbols), side=side, lam=lam, eps=p.eps, variant=p.variant, C=p.C, scale=p.scale, feasible=W)

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The learner with the given lam."""
        if p.te_budget is not None and p.lam is not None:
            raise ParameterError(f"give lam={p.lam!r} or te_budget={p.te_budget!r}, not both: the budget chooses lam")
        return cls.make_learner(p, symbols)(p.lam)

    @classmethod
    def by_position(cls, p: Any) -> bool:
        """Where side information of the user's own has one number per asset, or is a function of all."""
        return names_positions(p.side)

    @classmethod
    def make_tuner(cls, p: Any, symbols: tuple[str, ...]) -> BudgetTuner | None:
        """Where a budget was given."""
        return None if p.te_budget is None else BudgetTuner(cls.make_learner(p, symbols), p.te_budget, p.budget_bars)


class APASTracker(PASTracker):
    """Adaptive passive-aggressive with side information: the tolerated error adapts to what the side information gains from it.

    Params (beside those of :class:`PASTracker`):
      - ``eps`` (5e-4): first tolerated error, in [nu, D]
      - ``nu`` (1e-4), ``D`` (1e-3): least and most tolerated error of one bar; it drifts towards D
      - ``G`` (1), ``G_mode`` ("running_max"): bound of the derivatives, growing with what is seen, or "fixed"
    """

    alias_name = "apas"
    diagnostic_lines: tuple[str, ...] = ("eps", "loss", "tau")
    params: Any = (("eps", 5e-4), ("nu", 1e-4), ("D", 1e-3), ("G", 1.0), ("G_mode", "running_max"))

    @classmethod
    def make_learner(cls, p: Any, symbols: tuple[str, ...]) -> Callable[[float | None], OnlineAlgorithm]:
        """From lam to a fresh learner."""
        side, W = side_information(p), limits(p, symbols)
        options = {
            "nu": p.nu,
            "D": p.D,
            "eps": p.eps,
            "G": p.G,
            "G_mode": p.G_mode,
            "variant": p.variant,
            "C": p.C,
            "scale": p.scale,
        }
        return lambda lam: APAS(len(symbols), side=side, lam=lam, feasible=W, **options)


class SLAITTracker(TrackerStrategy):
    """Sparse batch tracking (SLAIT) on a rolling window, solved anew every few bars: the rival that re-optimises.

    Params (beside those of :class:`TrackerStrategy`):
      - ``lam`` (1e-7): price of a name; larger means fewer names
      - ``max_weight`` (1): cap of each weight
      - ``measure`` ("ete"): "ete" (tracking error), "dr" (downside risk), "hete" and "hdr" (the same with linear tails beyond
        ``huber``)
      - ``window`` (100), ``every`` (10): bars of a fit, and from one fit to the next
      - ``huber`` (1e-3): where the tails begin
      - ``starts`` (8): starts of a fit, of which the best is kept, drawn with ``seed`` (0); 1 is the paper's iteration, ten
        to twenty times as fast
    """

    alias_name = "slait"
    diagnostic_lines: tuple[str, ...] = ("held", "spread")
    params: Any = (
        ("lam", 1e-7),
        ("max_weight", 1.0),
        ("measure", "ete"),
        ("window", 100),
        ("every", 10),
        ("huber", 1e-3),
        ("starts", 8),
        ("seed", 0),
    )

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """SLAIT with these settings."""
        options = {name: getattr(p, name) for name in ("lam", "measure", "window", "every", "huber", "starts", "seed")}
        return SLAIT(len(symbols), u=p.max_weight, **options)


def names_positions(side: Any) -> bool:
    """Whether side information knows assets by their positions; the terms that strategies make by name do not."""
    if not isinstance(side, SideInformation):
        return False
    if isinstance(side, Sum):
        return any(map(names_positions, side.terms))
    same_for_all = isinstance(side, NegativeLogReturn | SwitchingCost | AlphaSignal | Constant | Linear | Quadratic | WeightedL1)
    return not same_for_all or any(isinstance(getattr(side, name), np.ndarray) for name in side.parameters)


def side_information(p: Any) -> SideInformation:
    """The side information that the params describe."""
    if isinstance(p.side, SideInformation):
        return p.side
    makers: dict[str, Callable[[], SideInformation]] = {
        "log-return": lambda: NegativeLogReturn(p.log_weight),
        "switching": lambda: SwitchingCost(p.kappa, against="drifted"),
        "signal": lambda: AlphaSignal(p.signal_weight, optional=True),
        "none": lambda: Constant(0.0),
    }
    names = [name.strip() for name in str(p.side).split("+")]
    if p.signal is not None and "signal" not in names:
        names.append("signal")
    unknown = [name for name in names if name not in makers]
    if unknown:
        raise ParameterError(f"side={unknown[0]!r} is unknown; join any of {', '.join(makers)} with '+'")
    terms = [makers[name]() for name in dict.fromkeys(names)]
    return terms[0] if len(terms) == 1 else Sum(terms)
