"""The passive-aggressive strategies: every param reaches its algorithm, signals work without looking ahead."""

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData, MarketPanel
from tests.markets import random_panel
from tracker_strategies import APASTracker, PASTracker, backtest
from tracker_strategies.algorithms import APAS, PA, PAS, SLAIT, MultiplicativePA, NegativeLogReturn, SwitchingCost
from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.research import replay
from tracker_strategies.testing.lookahead import check_no_lookahead

PANEL = random_panel(n_bars=80, n_assets=6, seed=41)
CLOSE = {"fill": "close"}


def by_hand(algorithm, panel=PANEL):
    x = panel.close[1:] / panel.close[:-1] - 1.0
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    return np.array([algorithm.weights, *(algorithm.update(a, float(b)) for a, b in zip(x, y, strict=True))])


CASES = {
    "pas": (
        {"lam": 0.05, "eps": 2e-4, "variant": "PA-II", "C": 50.0},
        lambda: PAS(6, lam=0.05, eps=2e-4, variant="PA-II", C=50.0),
    ),
    "apas": (
        {"lam": 0.05, "nu": 2e-4, "D": 5e-3, "eps": 1e-3, "G": 2.0, "G_mode": "fixed"},
        lambda: APAS(6, lam=0.05, nu=2e-4, D=5e-3, eps=1e-3, G=2.0, G_mode="fixed"),
    ),
    "multiplicative-pa": ({"eps": 1e-3}, lambda: MultiplicativePA(6, eps=1e-3)),
    "slait": ({"lam": 1e-6, "window": 30, "every": 5}, lambda: SLAIT(6, lam=1e-6, window=30, every=5)),
}


@pytest.mark.parametrize("name", CASES)
def test_params_reach_the_algorithm(name):
    params, make = CASES[name]
    np.testing.assert_allclose(backtest(PANEL, name, {**CLOSE, **params}).decisions, by_hand(make()), atol=1e-12)


def test_side_information_by_name_or_as_an_object():
    named = backtest(PANEL, "pas", {**CLOSE, "side": "log-return+switching", "kappa": 0.01, "log_weight": 0.5, "lam": 0.02})
    side = NegativeLogReturn(0.5) + SwitchingCost(0.01, against="drifted")
    given = backtest(PANEL, "pas", {**CLOSE, "side": side, "lam": 0.02})
    np.testing.assert_array_equal(named.decisions, given.decisions)
    none = backtest(PANEL, "pas", {**CLOSE, "side": "none", "lam": 0.02})
    np.testing.assert_allclose(none.decisions, by_hand(PA(6)), atol=1e-12)


def test_a_switching_cost_saves_turnover():
    free, priced = (backtest(PANEL, "pas", {**CLOSE, "side": side, "kappa": 0.3}).metrics() for side in ("none", "switching"))
    assert priced["turnover"] < 0.9 * free["turnover"]


def momentum(bar):
    return np.where(np.arange(len(bar.close)) == 2, 1.0, 0.0)


def test_a_callable_signal_tilts_the_portfolio():
    plain = backtest(PANEL, "pas", {**CLOSE, "side": "none", "lam": 0.05})
    tilted = backtest(PANEL, "pas", {**CLOSE, "side": "signal", "signal": momentum, "lam": 0.05})
    assert tilted.decisions[10:, 2].mean() > plain.decisions[10:, 2].mean() + 0.02
    np.testing.assert_array_equal(
        replay(PANEL, "pas", {**CLOSE, "side": "signal", "signal": momentum, "lam": 0.05}).decisions, tilted.decisions
    )


class Trend(PASTracker):
    """A backtrader indicator per asset as side information."""

    params = (("side", "signal"), ("lam", 0.05), ("signal_weight", 5.0), ("fill", "close"))

    def __init__(self):
        super().__init__()
        self.signal_lines = [bt.indicators.ROC(d, period=10) for d in self.assets]


def run_trend(panel):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    cerebro.addstrategy(Trend)
    from tracker_strategies import HoldingsAnalyzer, TrackingAnalyzer, record_of

    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    return record_of(cerebro.run()[0])


def test_backtrader_lines_can_be_the_signal():
    record = run_trend(PANEL)
    roc = np.full(PANEL.close.shape, np.nan)
    roc[10:] = PANEL.close[10:] / PANEL.close[:-10] - 1.0
    rows = {row.tobytes(): t for t, row in enumerate(PANEL.close)}
    expected = backtest(
        PANEL,
        "pas",
        {**CLOSE, "side": "signal", "lam": 0.05, "signal_weight": 5.0, "signal": lambda bar: roc[rows[bar.close.tobytes()]]},
    )
    np.testing.assert_allclose(record.decisions, expected.decisions, atol=1e-12)
    assert np.abs(record.decisions - backtest(PANEL, "pas", {**CLOSE, "side": "none", "lam": 0.05}).decisions).max() > 0.01


def test_signals_do_not_look_ahead():
    check_no_lookahead(run_trend, PANEL, cuts=(0.5,))


SECTORS = {f"S{i}": "Energy" if i < 3 else "Utilities" for i in range(6)}


def test_limits_hold():
    for name, params in (("apas", {"lam": 0.1}), ("slait", CASES["slait"][0])):
        assert backtest(PANEL, name, {**CLOSE, **params}).decisions.max() > 0.25
        record = backtest(PANEL, name, {**CLOSE, **params, "max_weight": 0.25})
        assert record.decisions.max() <= 0.25 + 1e-12
    sectors = {"S0": "a", "S1": "a", "S2": "b"}
    record = backtest(PANEL, "pa", {**CLOSE, "sectors": sectors, "max_sector": 0.3, "unmapped": "free"})
    assert record.decisions[:, :2].sum(axis=1).max() <= 0.3 + 1e-9
    assert record.decisions[:, 2].max() <= 0.3 + 1e-9
    assert record.decisions[:, 3:].sum(axis=1).max() > 0.3 + 1e-9  # free
    record = backtest(PANEL, "pa", {**CLOSE, "sectors": sectors, "max_sector": 0.35, "unmapped": "group"})
    for members in ([0, 1], [2], [3, 4, 5]):
        assert record.decisions[:, members].sum(axis=1).max() <= 0.35 + 1e-9


@pytest.mark.parametrize(
    ("name", "params", "error", "words"),
    [
        ("pas", {"lam": 0.0}, ParameterError, "lam"),
        ("apas", {"eps": 1.0}, ParameterError, "eps"),
        ("pas", {"side": "astrology"}, ParameterError, "astrology"),
        ("pas", {"max_tracking_error": -1.0}, ParameterError, "max_tracking_error"),
        ("pa", {"max_weight": 0.1}, ParameterError, "6 names of at most 10 % hold 60 % together, but 100 % must be invested"),
        ("pa", {"max_sector": 0.5}, ParameterError, "max_sector needs the sector of each name"),
        ("pa", {"sectors": {"NOPE": "x"}, "max_sector": 0.5}, UniverseError, "none of the 6 names has a sector"),
        ("pa", {"sectors": SECTORS, "max_sector": {"Enrgy": 0.5}}, UniverseError, "'Enrgy', .*did you mean 'Energy'"),
        ("slait", {"exclude": ["S01"]}, UniverseError, "'S01', .*did you mean 'S[01]'"),
        ("slait", {"measure": "vibes"}, ParameterError, "vibes"),
    ],
)
def test_bad_params_are_named(name, params, error, words):
    with pytest.raises(error, match=words):
        backtest(PANEL, name, params)


def test_several_targets_are_tracked_as_a_blend():
    frame = PANEL.to_frame()
    frame.insert(1, "OTHER", (PANEL.close[:, 0] * 3.0))
    two = MarketPanel.from_frame(frame, ["INDEX", "OTHER"])
    levels = two.target_close
    y = (levels[1:] / levels[:-1] - 1.0) @ np.array([0.25, 0.75])
    learner = APAS(6, lam=0.01)
    x = two.close[1:] / two.close[:-1] - 1.0
    expected = np.array([learner.weights, *(learner.update(a, float(b)) for a, b in zip(x, y, strict=True))])
    record = backtest(two, APASTracker, {**CLOSE, "lam": 0.01, "blend": "1,3"})
    np.testing.assert_allclose(record.decisions, expected, atol=1e-12)
    for bad in ("x", "1,2,3"):
        with pytest.raises(ParameterError, match="blend"):
            backtest(two, "pa", {"blend": bad})
