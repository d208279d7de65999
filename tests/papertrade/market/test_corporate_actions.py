"""Corporate actions, with a position and an order pending: the account is worth what it was, and the learner sees no jump."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datafeeds import MarketPanel
from tests.markets import random_panel
from tests.papertrade.harness import books_balance, decided_weights, events, open_account, orders, step_through, values
from tracker_strategies.errors import DataError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import BadBarError
from tracker_strategies.papertrade.market.corporate_actions import Action, due, factors, read_actions

DAY = 8
FREE = CostModel()


def plain():
    return random_panel(n_bars=14, n_assets=4, seed=21, ohlc=True)


def scaled(panel, symbol, factor, rows, *, renamed=None, only=None):
    """The panel with all prices of one name multiplied on some rows."""
    i = panel.symbols.index(symbol)
    table = {}
    for kind in ("close", "open", "high", "low"):
        values = getattr(panel, kind).copy()
        values[rows, i] *= factor
        table[kind] = values
    symbols = tuple(renamed if s == symbol and renamed else s for s in panel.symbols)
    close = table.pop("close")
    return MarketPanel(panel.dates, symbols, close, panel.targets, panel.target_close, **table)


def actions_file(folder, *lines):
    path = folder / "actions.csv"
    path.write_text("date,symbol,kind,value\n" + "\n".join(lines) + "\n")
    return str(path)


def day(panel, row=DAY):
    return str(panel.dates[row])[:10]


@pytest.mark.parametrize("ratio", [4.0, 0.1, 1.5], ids=["4:1 split", "1:10 reverse split", "3:2 split"])
@pytest.mark.parametrize("source", ["raw", "adjusted", "adjusted, not told"])
def test_a_split_changes_nothing_but_the_number_of_shares(folder, ratio, source):
    """Positions are held and orders wait over the night of the split."""
    panel = plain()
    quiet = open_account(folder / "quiet", panel, costs=FREE)
    step_through(quiet, panel)
    raw = scaled(panel, "S1", 1.0 / ratio, slice(DAY, None))
    told = actions_file(folder, f"{day(panel)},S1,split,{ratio}")
    account = open_account(folder / "split", panel, costs=FREE, actions=told if source != "adjusted, not told" else "")
    for k in range(1, panel.n_bars + 1):
        seen = raw.rows(0, k) if source == "raw" or k <= DAY else scaled(panel, "S1", 1.0 / ratio, slice(None)).rows(0, k)
        PaperAccount(account.folder).step(seen)
    np.testing.assert_allclose(values(account), values(quiet), rtol=1e-9)
    np.testing.assert_allclose(decided_weights(account), decided_weights(quiet), atol=1e-12)
    (waited,) = [o for o in orders(account, f"session = '{day(panel, DAY - 1)}'") if o["symbol"] == "S1"]
    (alone,) = [o for o in orders(quiet, f"session = '{day(panel, DAY - 1)}'") if o["symbol"] == "S1"]
    assert waited["filled"] == pytest.approx(alone["filled"] * ratio, rel=1e-9)
    assert waited["status"] == "filled"
    assert len(events(account, "action")) == 1
    books_balance(account)


def test_whole_lots_stay_whole_after_a_reverse_split(folder):
    panel = scaled(plain(), "S1", 10.0, slice(DAY, None))
    account = open_account(folder / "a", panel, "pa", {"lot": 1.0}, actions=actions_file(folder, f"{day(panel)},S1,split,1:10"))
    step_through(account, panel)
    late = [o for o in orders(account, f"session >= '{day(panel)}'") if o["symbol"] == "S1"]
    assert late
    held = 0.0
    with account.journal(readonly=True) as journal:
        held = journal.one("select size from positions where symbol = 'S1'")
    # the tenth of an odd lot is sold down to whole shares by the first order
    assert held == pytest.approx(round(held), abs=1e-9)
    books_balance(account)


def test_a_dividend_is_paid_in_cash_and_no_return_to_the_learner(folder):
    panel = plain()
    before = float(panel.close[DAY - 1, 1])
    amount = round(0.03 * before, 2)
    drop = (before - amount) / before
    raw = scaled(panel, "S1", drop, slice(DAY, None))
    account = open_account(folder / "a", panel, costs=FREE, actions=actions_file(folder, f"{day(panel)},S1,dividend,{amount}"))
    step_through(account, raw, stop=DAY)
    with account.journal(readonly=True) as journal:
        shares = journal.one("select size from positions where symbol = 'S1'")
    step_through(account, raw, start=DAY + 1)
    with account.journal(readonly=True) as journal:
        (paid,) = journal.rows("select * from cash where kind = 'dividend'")
    assert (paid["session"], paid["symbol"]) == (day(panel), "S1")
    assert paid["amount"] == pytest.approx(shares * amount, rel=1e-12)
    quiet = open_account(folder / "quiet", panel, costs=FREE)
    step_through(quiet, panel)
    # The learner sees the total return, which is that of the market without the dividend.
    np.testing.assert_allclose(decided_weights(account), decided_weights(quiet), atol=1e-12)
    np.testing.assert_allclose(values(account), values(quiet), rtol=2e-3)
    books_balance(account)


def test_an_adjusted_history_pays_the_dividend_that_it_hides(folder):
    panel = plain()
    drop = 0.98
    account = open_account(folder / "a", panel, costs=FREE)
    for k in range(1, panel.n_bars + 1):
        seen = panel if k <= DAY else scaled(panel, "S1", drop, slice(None, DAY))
        PaperAccount(account.folder).step(seen.rows(0, k))
    (text,) = events(account, "action")
    assert "dividend" in text
    assert "adjusted history" in text
    with account.journal(readonly=True) as journal:
        assert journal.one("select amount from cash where kind = 'dividend'") > 0.0
    books_balance(account)


def test_a_new_ticker_keeps_the_position_and_the_pending_order(folder):
    panel = plain()
    quiet = open_account(folder / "quiet", panel)
    step_through(quiet, panel)
    account = open_account(folder / "a", panel, actions=actions_file(folder, f"{day(panel)},S1,rename,META"))
    step_through(account, panel, stop=DAY)
    renamed = scaled(panel, "S1", 1.0, slice(None), renamed="META")
    step_through(account, renamed, start=DAY + 1)
    np.testing.assert_allclose(values(account), values(quiet), rtol=1e-12)
    with account.broker() as broker:
        assert "META" in broker.holdings().sizes
        assert "S1" not in broker.holdings().sizes
    books_balance(account)


@pytest.mark.parametrize("paid", ["", "125.5"], ids=["at its last price", "at a price that was announced"])
def test_a_delisting_pays_out_and_cancels_the_order(folder, paid):
    panel = plain()
    gone = np.isnan(panel.close)
    gone[DAY:, 1] = True
    table = {k: np.where(gone, np.nan, getattr(panel, k)) for k in ("close", "open", "high", "low")}
    panel = MarketPanel(panel.dates, panel.symbols, table.pop("close"), panel.targets, panel.target_close, **table)
    account = open_account(
        folder / "a", panel, "pa", {"delist_after": 2}, costs=FREE, actions=actions_file(folder, f"{day(panel)},S1,delist,{paid}")
    )
    step_through(account, panel, stop=DAY)
    with account.journal(readonly=True) as journal:
        shares = journal.one("select size from positions where symbol = 'S1'")
    step_through(account, panel, start=DAY + 1)
    with account.journal(readonly=True) as journal:
        amount = journal.one("select amount from cash where kind = 'delist'")
    price = float(paid) if paid else float(panel.close[DAY - 1, 1])
    assert amount == pytest.approx(shares * price, rel=1e-12)
    (waited,) = [o for o in orders(account, f"session = '{day(panel, DAY - 1)}'") if o["symbol"] == "S1"]
    assert (waited["status"], waited["filled"]) == ("cancelled", 0.0)
    books_balance(account)


def test_a_split_before_the_account_began_is_taken_out_of_what_is_learned_from(folder):
    panel = plain()
    raw = scaled(panel, "S1", 0.25, slice(5, None))
    told = actions_file(folder, f"{day(panel, 5)},S1,split,4")
    start = {"start": day(panel, 10)}
    split = open_account(folder / "a", panel, actions=told, **start)
    step_through(split, raw, start=11)
    quiet = open_account(folder / "b", panel, **start)
    step_through(quiet, panel, start=11)
    np.testing.assert_allclose(decided_weights(split), decided_weights(quiet), atol=1e-12)


def test_a_split_that_nobody_told_of_stops_the_account(folder):
    panel = plain()
    raw = scaled(panel, "S1", 0.25, slice(DAY, None))
    account = open_account(folder / "a", panel)
    step_through(account, raw, stop=DAY)
    with pytest.raises(BadBarError, match=r"S1 moved by -7\d%.*split that is not in the file of actions"):
        step_through(account, raw, start=DAY + 1, stop=DAY + 1)
    assert len(values(account)) == DAY


def test_past_prices_that_were_corrected_are_reported_and_not_taken_over(folder):
    panel = plain()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=DAY)
    changed = scaled(panel, "S2", 1.02, slice(DAY - 3, DAY - 2))
    (result,) = step_through(account, changed, start=DAY + 1, stop=DAY + 1)
    assert any("changed past prices of S2" in m for m in result.messages)
    with account.journal(readonly=True) as journal:
        blob = journal.one("select prices from bars where session = ?", (day(panel, DAY - 3),))
    np.testing.assert_array_equal(np.frombuffer(blob)[:4], panel.close[DAY - 3])


# -- the pieces ----------


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("2020-01-01,S1,merger,2", "kind 'merger' is unknown"),
        ("2020-13-01,S1,split,2", "not a date"),
        ("2020-01-01,S1,split,-2", "positive number"),
        ("2020-01-01,S1,split,x", "positive number"),
        ("2020-01-01,S1,split,4:0", "positive number"),
        ("2020-01-01,S1,rename,", "new ticker"),
        ("2020-01-01,,split,4", "line 2"),
        ('2020-01-01,S1,"spl', "cannot be read"),
    ],
)
def test_a_wrong_line_in_the_file_of_actions_is_named(folder, line, problem):
    with pytest.raises(DataError, match=problem):
        read_actions(actions_file(folder, line))


@given(
    ratio=st.sampled_from([2.0, 3.0, 4.0, 20.0, 0.5, 0.1, 1.5]),
    share=st.floats(0.001, 0.2),
    price=st.floats(1.0, 1000.0),
)
def test_factors_make_a_splits_and_a_dividends_price_continuous(ratio, share, price):
    dividend = price / ratio * share
    listed = [Action("b", "X", "dividend", dividend), Action("b", "X", "split", ratio)]
    taken = due(listed, "a", "b", ["X"], ["X"], np.array([price]), {})
    assert [a.kind for a in taken] == ["split", "dividend"]
    table = factors(taken, ["a", "b"], ["X"])
    assert table[0, 0] == 1.0
    # the theoretical price after both is the old one in units
    assert (price / ratio - dividend) * table[1, 0] == pytest.approx(price, rel=1e-12)


def test_actions_that_contradict_the_adjusted_history_are_refused():
    with pytest.raises(DataError, match=r"multiplied by 0\.25"):
        due([Action("b", "X", "split", 2.0)], "a", "b", ["X"], ["X"], np.array([100.0]), {0: 0.25})
    with pytest.raises(DataError, match="more than the share price"):
        due([Action("b", "X", "dividend", 200.0)], "a", "b", ["X"], ["X"], np.array([100.0]), {})


def test_a_file_of_actions_may_appear_later(folder):
    panel = plain()
    path = folder / "later.csv"
    account = open_account(folder / "a", panel, actions=str(path))
    raw = scaled(panel, "S1", 0.25, slice(DAY, None))
    step_through(account, raw, stop=DAY)
    with pytest.raises(BadBarError):
        step_through(account, raw, start=DAY + 1, stop=DAY + 1)
    pd.DataFrame({"date": [day(panel)], "symbol": ["S1"], "kind": ["split"], "value": [4]}).to_csv(path, index=False)
    step_through(account, raw, start=DAY + 1)
    assert len(values(account)) == panel.n_bars
