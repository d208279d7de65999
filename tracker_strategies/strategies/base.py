"""TrackerStrategy: the one backtrader Strategy under all trackers. It reads bars, lets an algorithm learn, and rebalances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.execution.basket.broker import host
from tracker_strategies.execution.basket.part import Part, share_of
from tracker_strategies.execution.commission import charge_by_name, costs_of, costs_of_run
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.fill_prices import check_close_fills
from tracker_strategies.execution.gate import Bar, PanelGate, gate_for
from tracker_strategies.execution.holdings.flows import flows_of
from tracker_strategies.execution.holdings.opening import begin_with
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import may_hold
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.named_costs import named
from tracker_strategies.execution.rebalancer import Rebalancer
from tracker_strategies.execution.schedule import Schedule
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.tracker_route import TrackerRoute
from tracker_strategies.execution.universe import Universe
from tracker_strategies.execution.volume.liquidity import Liquidity, check_filler
from tracker_strategies.strategies._from_learner import FromLearner, options
from tracker_strategies.strategies._host import HostedStrategy
from tracker_strategies.strategies._side import names_positions, signal_of
from tracker_strategies.strategies.bar_lengths import settle_feeds
from tracker_strategies.strategies.budget import check_budget
from tracker_strategies.strategies.compose import in_coordinates, settle_coordinates, settle_mandate
from tracker_strategies.strategies.feeds import find_assets, find_targets, known_names
from tracker_strategies.strategies.index_weights.informed import informed
from tracker_strategies.strategies.start import first_date, overnight_of, settle_holdings
from tracker_strategies.strategies.target import target_of
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]


class TrackerStrategy(HostedStrategy, metaclass=FromLearner):
    """Holds the weights of an online algorithm, bar by bar. Subclasses choose the algorithm: see :meth:`make_algorithm`.

    At the close of bar t it has x_t, the returns of the assets since bar t-1, and y_t, the return of the index. The algorithm
    turns them into w_{t+1}, the weights for the time after t; ``fill`` sets when orders fill. The first bar buys start weights.

    The feeds may be those of a :class:`datafeeds.SingleIndexData` (fast) or any backtrader feeds. A name on holiday or halted
    keeps its weight and is not traded; one that lists later enters at weight 0 after ``listing_warmup`` bars; one without a bar
    for ``delist_after`` bars is booked out at its last price and its cash reinvested.

    Params:
      - ``target`` (None): name of the feed to track. By default the panel's target, or the feed called ``INDEX``
      - ``assets`` (None): names of the feeds to invest in; by default all that are not targets
      - ``blend`` (None): weights of the targets when there are several, whose weighted mean is tracked; equal by default
      - ``margin`` (None): target excess return per year, 0.15 or "15%"; one for all targets or one for each ("2%,1%").
        ``enhance`` is its old name. More than 50 % per year is refused unless ``confirm_margin`` (False) confirms it
      - ``bars_per_year`` (None): bars in a year, for ``margin`` and for annualised figures; by default inferred from the data:
        98280 for minutes, 252 for days, 52 for weeks, 12 for months. ``bars_a_year`` is its old name
      - ``coordinates`` ("weights"): what stays constant while the algorithm is passive: "weights" (as in the papers), or
        "shares": share counts, as in an index; then passive means that no order is sent. See
        :class:`~tracker_strategies.algorithms.Holdings`. "holdings" is its old name
      - ``index_weights`` (None): known weights of the index: a mapping from dates to symbols and weights, or a file of symbol,
        weight, date. A row counts from the bar after its date. The learner starts at them; ensembles also use them as prior
      - ``cash_flows`` (None): money paid in and out: a mapping from dates to amounts, a file of date and amount, or "1000/month"
      - ``mandate`` (None): limits that hold in every decision: a :class:`~tracker_strategies.execution.Mandate`, a mapping of its
        keys, or the path of a TOML file with them. Every key is also a param, with the same meaning: ``max_names``,
        ``max_weight``, ``min_weight``, ``must_hold``, ``sectors``, ``max_sector``, ``min_sector``, ``groups``,
        ``max_names_per_group``, ``unmapped``, ``exclude``, ``only``, ``freeze``, ``min_cash``, ``max_turnover``,
        ``entry_turnover``, ``lot``, ``band``, ``cost_aware``, ``headroom``, ``cure``, ``fees``
      - ``max_tracking_error`` (None): budget for the tracking error per year, 0.02 or "2%", to which a tilt is reduced; for
        strategies with a tilt (:class:`~tracker_strategies.algorithms.Budgeted`). ``te_budget`` and ``budget_bars`` are refused
      - ``fill`` ("next_open"): "next_open", "open" or "close"; see :class:`~tracker_strategies.execution.timing.FillMode`
      - ``max_participation`` (None): largest share of a bar's volume that one order may fill, 0.1 or "10%"; ``unfilled``
        ("carry"): the rest is sent again on the next bars until the next rebalance, or "drop": it is cancelled
      - ``impact`` (None): "sqrt": fills of q shares move the price by ``impact_coefficient`` (1) times the daily volatility times
        sqrt(q / average daily volume). See :class:`~tracker_strategies.execution.volume.liquidity.Liquidity`
      - ``rebalance`` (1): bars between two rebalances, or their time ("2 hours"); "hourly", "daily", "weekly", "monthly",
        "quarterly", "yearly" (the first bar of each), "monday" to "friday", "month-end" (the last session of a month),
        "session-close", "15:55", "once". See :class:`~tracker_strategies.execution.schedule.Schedule`
      - ``calendar`` (None): exchange whose sessions give the end of a month or day, such as "XNYS"; by default the last weekday
      - ``listing_warmup`` ("20 sessions"): bars before a newly listed name may be held, as a number or as time ("1 month").
        On bars of a day or longer, a session counts as one bar
      - ``delist_after`` ("10 sessions"): bars without a price after which a name counts as delisted, in the same units
      - ``overnight`` ("learn"): returns over a night in bars shorter than a day: "scale" them by their own variance before they
        are learned, or "skip" them. See :class:`~tracker_strategies.execution.overnight.Overnight`
      - ``holdings`` (None): what is held at the first bar, at its prices: an :class:`~tracker_strategies.Account`, a mapping from
        names to shares, or the path of a file of holdings; its cash is left to the broker
      - ``trade_from`` (None): first date on which it may trade. On bars before it, it only learns
      - ``capital`` (None): share of the account's cash that is this tracker's, 0.5 for one half. It is needed where several
        trackers share an account; each then has its own positions and cash. None: it may use all cash
      - ``broker`` ("basket"): fill all orders of a bar at once while nothing else trades in the account and feeds and broker
        allow it, hundreds of times faster; or "ordinary": always one backtrader order per name, with the same outcome
    """

    params: Any = (
        ("target", None),
        ("assets", None),
        ("blend", None),
        ("margin", None),
        ("confirm_margin", False),
        ("enhance", None),
        ("bars_per_year", None),
        ("bars_a_year", None),
        ("coordinates", "weights"),
        ("index_weights", None),
        ("cash_flows", None),
        ("mandate", None),
        *((limit.name, limit.default or None) for limit in fields(Mandate)),
        ("max_tracking_error", None),
        ("te_budget", None),
        ("budget_bars", None),
        ("fill", "next_open"),
        ("max_participation", None),
        ("unfilled", "carry"),
        ("impact", None),
        ("impact_coefficient", 1.0),
        ("rebalance", 1),
        ("calendar", None),
        ("listing_warmup", "20 sessions"),
        ("delist_after", "10 sessions"),
        ("overnight", "learn"),
        ("holdings", None),
        ("trade_from", None),
        ("capital", None),
        ("broker", "basket"),
    )

    #: The class of its learner. A subclass that names one has its keyword arguments as params, documented as they are there, with
    #: its name and figures; ``params`` in the subclass change defaults or add to them.
    learner: ClassVar[type[OnlineAlgorithm] | None] = None
    #: Keyword arguments of the learner that are no params of the strategy.
    without: ClassVar[tuple[str, ...]] = ()
    #: Names of params by keyword arguments of the learner, where they differ.
    called: ClassVar[Mapping[str, str]] = {}
    #: Params that are a number of bars, and may be given as time: "20 sessions", "3 months", "1y".
    windows: ClassVar[tuple[str, ...]] = ("listing_warmup", "delist_after")
    #: Whether :meth:`make_algorithm` puts its learners :func:`~.compose.in_coordinates` itself.
    sets_coordinates: ClassVar[bool] = False
    #: Whether :meth:`make_algorithm` reads ``p.start_weights`` (learners with a ``start`` get them); needs them.
    takes_index_weights: ClassVar[bool] = False
    must_know_weights: ClassVar[bool] = False
    #: Whether it leans to something beside the target, so that a tracking-error budget has something to cut.
    tilts: ClassVar[bool] = False
    #: The name under which the command line knows the strategy; empty for abstract ones.
    alias_name = ""
    #: Figures of ``algorithm.diagnostics()`` that tell most about how it learns, for plots.
    diagnostic_lines: tuple[str, ...] = ()
    #: One backtrader line per asset, for algorithms that take a signal; a subclass may set them in its ``__init__``.
    signal_lines: Sequence[Any] | None = None
    route: TrackerRoute
    #: Whether this turn has brought a bar; a resampled feed beside the others has turns of its own, on which nothing is done.
    new_bar = True

    def __init__(self) -> None:
        if self.p.broker not in ("basket", "ordinary"):
            raise ParameterError(f"broker={self.p.broker!r} is unknown; choose basket (fast) or ordinary (one order per name)")
        self.targets = find_targets(self.datas, self.p.target)
        self.assets = find_assets(self.datas, self.targets, self.p.assets)
        if not len(self.assets):
            raise UniverseError(f"the target {self.targets[0]._name!r} is the only feed; add the assets to invest in as feeds")
        self.symbols: tuple[str, ...] = getattr(self.assets, "symbols", None) or tuple(d._name for d in self.assets)
        settle_feeds(type(self), self.p, self.targets[0], self.assets)
        costs = costs_of_run(self.broker, self.assets, first=not self._before())
        self.tracker = self.make_tracker(self.p, self.symbols, costs, len(self.targets))
        self._open_route()

    @classmethod
    def options(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> dict[str, Any]:
        """Keyword arguments of :attr:`learner`, from the params: what it takes by name, and what a strategy supplies."""
        return options(cls, p, symbols, n_targets)

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The algorithm that chooses the weights, from the strategy's params, its assets' names and the number of targets.

        The names are sorted, whatever the order of the feeds, and the algorithm's arrays are in the order of `symbols`: ties and
        draws go by symbol. What comes from the bars and what goes to the orders is put in order around it.
        """
        if cls.learner is None:
            raise NotImplementedError(
                f"{cls.__name__} must name the algorithm that it runs: set learner, or override "
                "make_algorithm(cls, p, symbols, n_targets)"
            )
        return cls.learner(len(symbols), **cls.options(p, symbols, n_targets))

    @classmethod
    def make_tracker(cls, p: Any, symbols: tuple[str, ...], costs: CostModel, n_targets: int = 1) -> Tracker:
        """The strategy's decisions on a bar, without backtrader."""
        settle_coordinates(p)
        mandate = settle_mandate(cls, p, symbols)
        keeper = None if mandate.is_free else Keeper(mandate, symbols)
        order = known_names(symbols, may_hold(mandate, symbols), by_position=cls.by_position(p))
        names = symbols if order is None else tuple(symbols[i] for i in order)
        check_budget(cls, p)
        tracker = Tracker(
            algorithm := cls.algorithm_of(p, names, n_targets),
            Universe(len(symbols), p.listing_warmup, p.delist_after),
            Schedule(p.rebalance, p.calendar),
            Rebalancer(named(costs, mandate.fees, symbols), mandate.lot),
            FillMode.parse(p.fill),
            target_of(p, n_targets, each=getattr(algorithm, "n_targets", 1) > 1),
            signal=signal_of(p),
            order=order,
            keeper=keeper,
            liquidity=Liquidity.of(p),
        )
        tracker.start, tracker.overnight = first_date(p.trade_from), overnight_of(p)
        return informed(cls, p, tracker, symbols, names, n_targets)

    @classmethod
    def algorithm_of(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The algorithm, in the coordinates that the params name."""
        algorithm = cls.make_algorithm(p, symbols, n_targets)
        return algorithm if cls.sets_coordinates else in_coordinates(p, algorithm)

    @classmethod
    def by_position(cls, p: Any) -> bool:
        """Whether a param refers to assets by their position among the feeds: then the algorithm keeps that order."""
        return names_positions(getattr(p, "side", None))

    @property
    def algorithm(self) -> OnlineAlgorithm:
        """The algorithm, for its diagnostics and state. Its arrays are in the order of the sorted symbols."""
        return self.tracker.algorithm

    @property
    def weights(self) -> FloatArray:
        """(N,) target weights for the time after the current bar."""
        return self.tracker.weights

    @property
    def bar(self) -> Bar | None:
        """The latest bar read through the gate."""
        return self.tracker.bar

    def _open_route(self) -> None:
        """Feeds and broker have been started by now: choose the fastest way to read prices and to send orders."""
        if self.tracker.fill is FillMode.CLOSE:
            check_close_fills(self.assets)
        self.gate = gate_for(self.assets, self.targets)
        broker = host(self.broker)
        if self.p.fees:
            charge_by_name(broker, self.tracker.rebalancer.costs, self.symbols, of_run=True)
            for other in self._before():  # the account's fees are theirs, too
                other.read_costs()
        if self.tracker.liquidity is not None:
            check_filler(self.tracker.liquidity, broker)
            self.gate.measure(self.p.bars_per_year)
        capital = share_of(self.p.capital, [other.route.part.capital for other in self._before()], broker)
        part = Part(self.assets, capital, broker.startingcash)
        broker.admit(self, part)
        self.route = TrackerRoute(self, part, flows_of(self.p.cash_flows))
        alone = len(self.cerebro.strats) == 1 and part.capital is None
        if self.p.broker == "basket" and isinstance(self.gate, PanelGate) and alone:
            broker.open_lane(part, self.gate, self.tracker.rebalancer.costs)
        if (held := settle_holdings(self.p, self.symbols)) is not None:
            begin_with(self, part, held)

    def read_costs(self) -> None:
        """Read what the broker charges now, to plan with it."""
        check_filler(self.tracker.liquidity, self.broker)
        self.tracker.rebalancer = replace(self.tracker.rebalancer, costs=costs_of(self.broker, self.assets))

    # -- the bar ----------

    def prenext(self) -> None:
        """Trade although some feeds have not begun yet; the gate knows which have."""
        self.next()

    def next(self) -> None:
        """Close of a bar."""
        route = self.route
        bar = route.gate.read()
        self.new_bar = is_new = route.is_new(bar)
        if self.signal_lines is not None:
            self.tracker.signal = self._read_lines
        if is_new:
            route.close(bar)

    def _read_lines(self, bar: Bar) -> list[float]:
        assert self.signal_lines is not None
        return [line[0] if len(line) else np.nan for line in self.signal_lines]


def strategy_of(learner: type[OnlineAlgorithm]) -> type[TrackerStrategy]:
    """The Strategy that runs a learner: the same class at every call.

    Its params are the keyword arguments of the learner, and those that every strategy has. For other defaults, or logic of its
    own, write it out: ``class Mine(TrackerStrategy): learner = ...``.
    """
    if "Strategy" not in vars(learner):
        body = {"learner": learner, "__module__": learner.__module__, "__qualname__": f"{learner.__qualname__}.Strategy"}
        learner.Strategy = FromLearner(f"{learner.__name__}Tracker", (TrackerStrategy,), body)  # type: ignore[attr-defined]
    return vars(learner)["Strategy"]  # type: ignore[no-any-return]
