"""A tracker that knows the weights of its index: the latest row that is known on the first bar is where its learner starts, and
later rows are told to learners that can use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.algorithms.wrapper import learners_within
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.gate import Bar
from tracker_strategies.strategies._from_learner import keywords
from tracker_strategies.strategies.index_weights.published import Published, index_weights, published_weights
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


class InformedTracker(Tracker):
    """A tracker that is told the weights of its index from the bar after their date on."""

    published: Published
    #: Makes the learner that starts at given weights; None once it has started.
    make: Callable[[FloatArray], OnlineAlgorithm] | None = None
    #: Whether it buys nothing before it knows any weights.
    must_know = False
    #: Whether the weights are a proxy of sizes only.
    proxy = False

    @classmethod
    def of(cls, tracker: Tracker, published: Published, **told: Any) -> Self:
        """The same tracker, told."""
        informed = object.__new__(cls)
        vars(informed).update(vars(tracker), published=published, **told)
        return informed

    def observe(self, bar: Bar) -> bool:
        """Take the weights that count from this bar on, then learn from it as every tracker."""
        weights = self.published.new(None if self._base is None else self._base.date, bar.date)
        if self._base is None:
            if weights is not None and self.make is not None:
                self.algorithm = self.make(self._carried(weights, bar))
            elif self.must_know:
                self.bar = bar
                self.universe.follow(bar)
                return False
        elif weights is not None:
            for learner in (self.algorithm, *learners_within(self.algorithm)):
                if hasattr(learner, "publish"):
                    learner.publish(weights, **({"proxy": True} if self.proxy else {}))
                    if self.must_know:
                        self.owe()  # what is held changes with the weights, whatever the schedule says
        due = super().observe(bar)
        if self._base is not None:
            self.make = None
        return due

    def _carried(self, weights: FloatArray, bar: Bar) -> FloatArray:
        """Weights that were known at the bar before, as prices have carried them to this one."""
        if self.bar is None:
            return weights
        growth = bar.close / self.bar.close
        carried: FloatArray = weights * self._in(np.where(np.isfinite(growth), growth, 1.0))
        return carried / float(carried.sum())


def informed(cls: Any, p: Any, tracker: Tracker, symbols: tuple[str, ...], names: tuple[str, ...], n_targets: int) -> Tracker:
    """The tracker, told what the params know of the index's weights; `names` are those that its algorithm knows."""
    if p.index_weights is None:
        given = published_weights(getattr(p, "prior_weights", None), names)
        return tracker if given is None or not given.dates else InformedTracker.of(tracker, given, proxy=True)
    check_use(cls)
    if getattr(p, "prior_weights", None) is not None:
        raise ParameterError("index_weights and prior_weights both give the weights of the index; give only one of them")
    published = index_weights(p.index_weights, symbols).among(symbols, names)
    values = vars(p) if isinstance(p, SimpleNamespace) else p._getkwargs()
    make = partial(_started, cls, SimpleNamespace(**values), names, n_targets)
    return InformedTracker.of(tracker, published, make=make, must_know=cls.must_know_weights)


def _started(cls: Any, p: Any, names: tuple[str, ...], n_targets: int, start: FloatArray) -> OnlineAlgorithm:
    made: OnlineAlgorithm = cls.algorithm_of(SimpleNamespace(**vars(p), start_weights=start), names, n_targets)
    return made


def hears(cls: Any) -> bool:
    """Whether a strategy can use weights that are known only after its first bar."""
    return cls.takes_index_weights or hasattr(cls.learner, "publish")


def uses(cls: Any) -> bool:
    """Whether known weights of the index change what a strategy does."""
    return hears(cls) or (cls.learner is not None and "start" in keywords(cls.learner))


def check_use(cls: Any) -> None:
    """Raise :class:`ParameterError` where a strategy has no use for weights of the index."""
    if not uses(cls):
        raise ParameterError(
            f"{cls.alias_name or cls.__name__} cannot use index_weights: its learner takes no starting weights; omit them, or "
            "choose ensemble, which uses them as its prior, or replicate, which holds them"
        )


def check_weights(cls: Any, dates: Iterable[str], bars: NDArray[np.datetime64]) -> None:
    """Raise :class:`ParameterError` if rows of these dates have no effect on a strategy that runs over these bars."""
    check_use(cls)
    known, first, last = min(dates), *(str(bars[i].astype("datetime64[D]")) for i in (0, -1))
    if known >= last:
        raise ParameterError(
            f"the first row of index_weights ({known}) is used after its date, but the bars end on {last}: no row can be used; "
            "give weights of an earlier date"
        )
    if known >= first and not hears(cls):
        raise ParameterError(
            f"{cls.alias_name or cls.__name__} uses index_weights only at its start, but the first row ({known}) is used after "
            f"the first bar ({first}); give a row with an earlier date, or omit index_weights"
        )
