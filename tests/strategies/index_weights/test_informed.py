"""What knowing the weights of the index does: exact replication, a better ensemble, and nothing before it is known."""

from dataclasses import replace

import numpy as np
import pytest

from datafeeds import DataWarning
from tests.markets import random_panel
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import EnsembleTracker, PATracker, Replicate
from tracker_strategies.strategies.index_weights import settled_weights
from tracker_strategies.testing import check_strategy
from tracker_strategies.testing.lookahead import check_no_lookahead

MARKET = random_panel(80, 6, seed=11, ohlc=True)
SHARES = np.array([5.0, 3.0, 2.0, 1.0, 0.5, 0.2]) / MARKET.close[0]
LEVEL = MARKET.close @ SHARES
#: A market whose index holds these shares from the first bar to the last.
PANEL = replace(MARKET, target_close=LEVEL[:, None])
DAYS = [str(day.astype("datetime64[D]")) for day in PANEL.dates]
BEFORE = str(PANEL.dates[0].astype("datetime64[D]") - np.timedelta64(1, "D"))


def weights(row):
    """Of the index at the close of a row."""
    return dict(zip(PANEL.symbols, (PANEL.close[row] * SHARES / LEVEL[row]).tolist(), strict=True))


def error(record):
    return record.metrics()["te_rms"]


@pytest.mark.parametrize("engine", [replay, backtest])
@pytest.mark.parametrize("row", [None, 0, 40], ids=["before the first bar", "of the first bar", "in mid-run"])
def test_replicate_is_the_index_from_the_bar_after_the_date_on(engine, row):
    given = {BEFORE if row is None else DAYS[row]: weights(0 if row is None else row)}
    run = engine(PANEL, "replicate", {"fill": "close", "index_weights": given})
    first = 0 if row is None else row + 1
    assert (run.decisions[:first] == 0.0).all()  # nothing is bought before it is known
    assert run.metrics()["n_bars"] == len(DAYS) - 1 - first
    assert error(run) < 1e-12
    assert run.turnover[first + 2 :].max() < 1e-12  # bought, then held


def test_a_later_row_replaces_what_is_held_whatever_the_schedule_says():
    other = {name: value for name, value in weights(50).items() if name != "S0"}
    scaled = {name: value / sum(other.values()) for name, value in other.items()}
    run = replay(
        PANEL, "replicate", {"fill": "close", "rebalance": "once", "index_weights": {BEFORE: weights(0), DAYS[50]: scaled}}
    )
    assert run.weights[50, 0] > 0.3
    assert run.decisions[51, 0] == 0.0
    assert (run.weights[52:, 0] == 0.0).all()
    np.testing.assert_allclose(run.weights[-1].sum(), 1.0, atol=1e-9)


def test_the_ensemble_starts_at_known_weights_and_goes_on_from_later_ones():
    without, known = (
        replay(PANEL, "ensemble", {"fill": "close", **more}) for more in ({}, {"index_weights": {BEFORE: weights(0)}})
    )
    late = replay(PANEL, "ensemble", {"fill": "close", "index_weights": {DAYS[20]: weights(20)}})
    np.testing.assert_allclose(known.decisions[0], list(weights(0).values()), atol=1e-12)
    assert error(known) < 1e-10 < 1e-4 < error(without)
    np.testing.assert_array_equal(late.decisions[:21], without.decisions[:21])
    assert np.abs(late.active[30:]).mean() < 0.1 * np.abs(without.active[30:]).mean()


@pytest.mark.parametrize("strategy", ["pa", "least-squares", "adagrad", "multiplicative-pa", "rls"])
def test_other_learners_start_there(strategy):
    run = replay(PANEL, strategy, {"index_weights": {BEFORE: weights(0)}})
    np.testing.assert_allclose(run.decisions[0], list(weights(0).values()), atol=1e-9)


@pytest.mark.parametrize("strategy", [EnsembleTracker, Replicate, PATracker], ids=lambda cls: cls.alias_name)
def test_weights_of_the_future_change_nothing_before_their_bar(strategy):
    row = {BEFORE: weights(0)}
    base = {} if strategy is PATracker else {DAYS[40]: dict.fromkeys(weights(0), 1 / 6)}
    one, other = (
        backtest(PANEL, strategy, {"index_weights": row | {DAYS[40]: future} if base else row}, orders=False)
        for future in (dict.fromkeys(weights(0), 1 / 6), dict(zip(PANEL.symbols, (1.0, 0, 0, 0, 0, 0), strict=True)))
    )
    np.testing.assert_array_equal(one.decisions[:41], other.decisions[:41])
    np.testing.assert_array_equal(one.value[:42], other.value[:42])  # fills at the next open
    assert bool(base) == bool(np.abs(one.decisions[41:] - other.decisions[41:]).max() > 1e-3)
    check_no_lookahead(strategy, PANEL, {"index_weights": row | base})


@pytest.mark.parametrize("strategy", [EnsembleTracker, Replicate], ids=lambda cls: cls.alias_name)
def test_replay_cerebro_and_paper_account_agree_while_names_come_and_go(strategy):
    panel = random_panel(22, 6, seed=3, ohlc=True, gaps=True)
    known = {
        str(panel.dates[0].astype("datetime64[D]") - np.timedelta64(1, "D")): dict.fromkeys(panel.symbols, 1 / 6),
        str(panel.dates[9].astype("datetime64[D]")): dict(zip(panel.symbols, (0.5, 0.1, 0.1, 0.1, 0.1, 0.1), strict=True)),
    }
    check_strategy(strategy, panel, {"index_weights": known}, only=["parity", "paper", "feed_order"])


def test_excluded_names_leave_their_weight_to_the_others():
    run = replay(PANEL, "replicate", {"fill": "close", "exclude": ["S0"], "index_weights": {BEFORE: weights(0)}})
    rest = np.array(list(weights(0).values()))[1:]
    np.testing.assert_allclose(run.decisions[0, 1:], rest / rest.sum(), atol=1e-9)
    with pytest.raises(ParameterError, match="the mandate excludes every name in index_weights"):
        replay(PANEL, "replicate", {"exclude": ["S0"], "index_weights": {BEFORE: {"S0": 1.0}}})


def test_sums_near_one_are_rescaled_and_said_others_refused():
    for total in (0.98, 1.02):
        given = {DAYS[3]: {name: total * value for name, value in weights(3).items()}}
        found, (note,) = settled_weights(given, PANEL.symbols)
        assert f"sum to {total:g} and were rescaled to 1" in note
        assert sum(found[DAYS[3]].values()) == pytest.approx(1.0, abs=1e-12)
        with pytest.warns(DataWarning, match="rescaled"):
            replay(PANEL, "replicate", {"index_weights": given})
    for total, words in ((0.97, "sum to 0.97"), (1.03, "sum to 1.03"), (100.0, "in percent")):
        given = {DAYS[3]: {name: total * value for name, value in weights(3).items()}}
        with pytest.raises(ParameterError, match=words):
            settled_weights(given, PANEL.symbols)


def test_names_without_prices_are_left_out_by_name_while_the_rest_is_an_index():
    few = {name: 0.99 * value for name, value in weights(3).items()} | {"ZZZ": 0.01}
    found, notes = settled_weights({DAYS[3]: few}, PANEL.symbols)
    assert "1 name is not among the 6 assets and left out: ZZZ" in notes[0]
    assert set(found[DAYS[3]]) == set(PANEL.symbols)
    with pytest.raises(ParameterError, match=r"sum to 0\.9 over .* a name with 0\.1 of the index without prices \(ZZZ\)"):
        settled_weights({DAYS[3]: {name: 0.9 * value for name, value in weights(3).items()} | {"ZZZ": 0.1}}, PANEL.symbols)


@pytest.mark.parametrize(
    ("strategy", "given", "words"),
    [
        ("ensemble", weights(0), "have no date, so a backtest cannot know when they became known"),
        ("replicate", None, "replicate needs the weights of the index.*give index_weights"),
        (
            "replicate",
            {DAYS[-1]: weights(-1)},
            rf"index_weights \({DAYS[-1]}\) is used after its date, but the bars end on {DAYS[-1]}",
        ),
        ("pa", {DAYS[0]: weights(0)}, "pa uses index_weights only at its start"),
        ("buy-and-hold", {BEFORE: weights(0)}, "buy-and-hold cannot use index_weights"),
        ("ensemble", {BEFORE: {"S0": -1.0, "S1": 2.0}}, "must be numbers >= 0"),
        ("ensemble", {"someday": weights(0)}, "'someday', which is not a date"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_what_cannot_be_meant_is_refused(strategy, given, words):
    for engine in (replay, backtest):
        with pytest.raises(ParameterError, match=words):
            engine(PANEL, strategy, {"index_weights": given})


def test_weights_and_a_proxy_contradict_each_other():
    with pytest.raises(ParameterError, match="index_weights and prior_weights both"):
        replay(PANEL, "ensemble", {"index_weights": {BEFORE: weights(0)}, "prior_weights": weights(0)})


def test_a_paper_account_takes_weights_without_dates_as_those_before_its_first_session(tmp_path):
    made = PaperAccount.create(
        tmp_path / "account",
        "replicate",
        "memory",
        {"index_weights": weights(29)},
        panel=PANEL,
        targets=PANEL.targets,
        start=DAYS[30],
    )
    (date,) = made.config.params["index_weights"]
    assert date == str(PANEL.dates[30].astype("datetime64[D]") - np.timedelta64(1, "D"))
    for rows in (31, 32):
        PaperAccount(made.folder).step(PANEL.rows(0, rows))
    with made.journal(readonly=True) as journal:
        decided = [np.frombuffer(row[0]) for row in journal.rows("select weights from decisions order by session")]
    np.testing.assert_allclose(decided[0], list(weights(30).values()), atol=1e-12)
    np.testing.assert_allclose(decided[1], list(weights(31).values()), atol=1e-12)
