"""The order list: what is in it, in whose format, and what is refused by name."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel
from tracker_strategies import Account, Mandate, orders_for
from tracker_strategies.desk import check_session
from tracker_strategies.desk.formats import COLUMNS
from tracker_strategies.desk.ids import LONGEST, order_id
from tracker_strategies.errors import AccountError, DataError, ParameterError, TrackerError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.holdings import Spelling

PANEL = replace(random_panel(60, 6, seed=8, ohlc=True), symbols=("AAPL", "BF-B", "BRK-B", "GE", "KO", "XOM"))
LAST = dict(zip(PANEL.symbols, PANEL.close[-1].tolist(), strict=True))
HELD = {"AAPL": 120.0, "BRK-B": 35.0, "XOM": 61.0}
ACCOUNT = Account(250.0, HELD)
COSTS = CostModel(bps=5, min_fee=0.5, slippage_bps=2)
WHOLE = {"lot": 1.0}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# -- the table ----------


def test_the_columns_are_as_promised_and_sells_come_first() -> None:
    plan = orders_for(PANEL, "pa", ACCOUNT, costs=COSTS)
    assert tuple(plan.table.columns) == COLUMNS
    sides = plan.table["side"].tolist()
    assert sides == sorted(sides, reverse=True)
    assert {*sides} == {"buy", "sell"}
    assert set(plan.table["as_of"]) == {PANEL.day(-1)}
    assert set(plan.table["type"]) == {"market"}
    value = plan.figures["value"]
    assert value == pytest.approx(250.0 + sum(LAST[name] * size for name, size in HELD.items()))
    for order in plan.table.itertuples():
        sign = 1.0 if order.side == "buy" else -1.0
        assert order.qty > 0.0
        assert order.est_value == pytest.approx(order.qty * order.est_price)
        assert order.est_cost >= 0.5
        assert order.weight_now == pytest.approx(HELD.get(order.symbol, 0.0) * LAST[order.symbol] / value)
        assert sign * (order.weight_target - order.weight_now) > 0.0


def test_cash_after_is_what_the_orders_leave() -> None:
    plan = orders_for(PANEL, "pa", ACCOUNT, costs=COSTS)
    paid = {"buy": -1.0, "sell": 1.0}
    left = 250.0 + sum(paid[o.side] * o.est_value - o.est_cost for o in plan.table.itertuples())
    assert plan.figures["cash_after"] == pytest.approx(left, abs=1e-6)
    assert left >= -1e-9
    assert any(line.startswith("cash after: ") for line in plan.foot)
    assert any("expected tracking error: " in line for line in plan.foot)
    assert "limits: none are set" in plan.foot


def test_the_expected_error_is_that_of_the_weights_over_the_latest_bars() -> None:
    plan = orders_for(PANEL, "pa", ACCOUNT)
    sizes = np.array([HELD.get(name, 0.0) for name in PANEL.symbols])
    for order in plan.table.itertuples():
        sizes[PANEL.symbols.index(order.symbol)] += order.qty if order.side == "buy" else -order.qty
    weights = sizes * PANEL.close[-1] / plan.figures["value"]
    y = PANEL.target_close[1:, 0] / PANEL.target_close[:-1, 0] - 1.0
    gap = PANEL.returns @ weights - y * weights.sum()
    assert plan.figures["tracking_error"] == pytest.approx(np.sqrt(np.mean(gap**2)), rel=1e-12)


@pytest.mark.parametrize("cash", [0.0, 250.0, 5000.0, 1e6])
@pytest.mark.parametrize("params", [{}, WHOLE], ids=["fractions", "lots"])
def test_each_batch_alone_keeps_cash(params: dict[str, Any], cash: float) -> None:
    plan = orders_for(PANEL, "pa", Account(cash, HELD), params, costs=COSTS)
    table = plan.table
    buys = table[table["side"] == "buy"]
    first = buys[buys["batch"] == 1]
    assert first["est_value"].sum() + first["est_cost"].sum() <= cash + 1e-9
    assert set(table.loc[table["side"] == "sell", "batch"]) <= {1}
    assert plan.figures["cash_after"] >= -1e-9
    if cash == 1e6:
        assert set(buys["batch"]) == {1}
    if cash == 0.0 and len(buys):
        assert set(buys["batch"]) == {2}
        assert any(line.startswith("batch 2, ") for line in plan.foot)


def test_reasons() -> None:
    params = {"exclude": "AAPL", "max_names": 3}
    reasons = orders_for(PANEL, "pa", ACCOUNT, params).table.set_index("symbol")["reason"].to_dict()
    assert reasons["AAPL"] == "excluded"
    assert set(reasons.values()) <= {"excluded", "exit", "entry", "rebalance"}
    assert "entry" in reasons.values()
    members = np.ones(PANEL.close.shape, dtype=bool)
    members[-5:, 0] = False
    left = orders_for(replace(PANEL, members=members), "pa", ACCOUNT).table.set_index("symbol")["reason"]
    assert left["AAPL"] == "delisted"


def test_holdings_that_are_the_decision_need_no_order() -> None:
    for params in ({}, WHOLE):
        plan = orders_for(PANEL, "pa", ACCOUNT, params)
        sizes = {name: HELD.get(name, 0.0) for name in PANEL.symbols}
        for order in plan.table.itertuples():
            sizes[order.symbol] += order.qty if order.side == "buy" else -order.qty
        again = orders_for(PANEL, "pa", Account(max(plan.figures["cash_after"], 0.0), sizes), params)
        assert len(again) == 0, again.table
        assert again.foot[0].startswith("no orders: the holdings are already as decided")
        assert again.to_csv() == ",".join(COLUMNS) + "\n"
        assert again.rows("alpaca")[0].empty


def test_names_that_are_not_traded_are_named_with_the_reason() -> None:
    params = {"freeze": "GE", "exclude": "KO"}
    foot = "\n".join(orders_for(PANEL, "pa", ACCOUNT, params).foot)
    assert "not traded, frozen by the mandate: GE" in foot
    assert "not traded, excluded by the mandate: KO" in foot
    assert "limits: all kept by this decision" in foot
    halted = PANEL.close.copy()
    halted[-2:, 3] = np.nan
    plain = replace(PANEL, close=halted, open=None, high=None, low=None, volume=None)
    foot = "\n".join(orders_for(plain, "pa", ACCOUNT).foot)
    assert "not traded, no price on the last bar: GE" in foot
    small = orders_for(PANEL, "pa", Account(1.2 * max(LAST.values())), {"lot": 1.0, "max_weight": 0.6})
    dear = max(LAST, key=LAST.__getitem__)
    assert any("one lot costs more than the account or a limit allows" in line and dear in line for line in small.foot)
    capped = orders_for(PANEL, "pa", Account(0.0, {"AAPL": 500.0}), {"max_weight": 0.3})
    assert any("held outside a limit before it: max_weight of AAPL" in line for line in capped.foot)


def test_a_mandate_is_kept_and_said_once() -> None:
    plan = orders_for(PANEL, "pa", ACCOUNT, mandate=Mandate(max_weight=0.25))
    assert plan.table["weight_target"].max() <= 0.25 + 1e-12
    with pytest.raises(ParameterError, match="the mandate is given twice"):
        orders_for(PANEL, "pa", ACCOUNT, {"mandate": {"max_weight": 0.3}}, mandate=Mandate(max_weight=0.25))
    with pytest.raises(ParameterError, match="max_weight"):
        orders_for(PANEL, "pa", ACCOUNT, mandate=Mandate(max_weight=0.1))  # six names at ten percent do not make an account


def test_turnover_is_kept_for_an_account_that_is_invested() -> None:
    plan = orders_for(PANEL, "pa", Account(0.0, HELD), {"max_turnover": 0.05})
    assert 0.0 < plan.figures["turnover"] <= 0.05 * (1.0 + 1e-9)


def test_a_reserve_for_the_open_shrinks_buys_by_one_factor() -> None:
    plain, careful = (orders_for(PANEL, "pa", ACCOUNT, gap=gap, costs=COSTS).table for gap in (0.0, "1%"))
    both = plain.merge(careful, on=["symbol", "side"])
    sells, buys = both[both["side"] == "sell"], both[both["side"] == "buy"]
    assert (sells["qty_x"] == sells["qty_y"]).all()
    ratio = buys["qty_y"] / buys["qty_x"]
    assert ratio.max() - ratio.min() < 1e-9
    assert ratio.max() < 1.0
    paid = {"buy": -1.01, "sell": 1.0}
    left = 250.0 + sum(paid[o.side] * o.est_value - o.est_cost for o in careful.itertuples())
    assert left == pytest.approx(0.0, abs=0.2)
    assert left >= -1e-6
    with pytest.raises(ParameterError, match="gap"):
        orders_for(PANEL, "pa", ACCOUNT, gap="much")


# -- a pure function ----------


def test_same_inputs_same_bytes_and_ids_of_account_date_symbol_and_side_only() -> None:
    one = orders_for(PANEL, "ensemble", ACCOUNT, costs=COSTS)
    two = orders_for(PANEL, "ensemble", Account(250.0, dict(reversed(HELD.items()))), costs=COSTS)
    for broker in ("generic", "alpaca"):
        assert one.to_csv(broker=broker) == two.to_csv(broker=broker)
    other = orders_for(PANEL, "pa", Account(9000.0, HELD), name="fund2")
    day = PANEL.day(-1).replace("-", "")
    for order in other.table.itertuples():
        assert order.client_order_id == f"fund2-{day}-{order.side}-{order.symbol}"


def test_ids_are_short_plain_and_different() -> None:
    names = ["A" * 60, "A" * 59 + "B", "BRK-B", "BRKB", "BRK B", "BRK.B", "Ä", "Ö", "", "x" * 16]
    ids = {order_id("a" * 16, "2024-01-31", name, side) for name in names for side in ("buy", "sell")}
    assert len(ids) == 2 * len(names)
    assert all(len(one) <= LONGEST and one.isascii() and " " not in one for one in ids)
    for bad in ("", "my account", "a-b", "x" * 17, "ä", None):
        with pytest.raises(ParameterError, match="letters and digits"):
            orders_for(PANEL, "pa", ACCOUNT, name=bad)  # type: ignore[arg-type]


# -- formats ----------


def test_every_row_for_alpaca_makes_an_order_request_of_its_library() -> None:
    requests = pytest.importorskip("alpaca.trading.requests")
    from alpaca.trading.enums import OrderSide, TimeInForce

    for params, time_in_force in (({}, "day"), (WHOLE, "day"), (WHOLE, "opg")):
        plan = orders_for(PANEL, "pa", ACCOUNT, params, time_in_force=time_in_force)
        found = rows(plan.to_csv(broker="alpaca"))
        assert list(found[0]) == ["symbol", "qty", "side", "type", "time_in_force", "client_order_id"]
        assert len(found) == len(plan)
        for row, order in zip(found, plan.table.itertuples(), strict=True):
            request = requests.MarketOrderRequest(**row)
            assert request.side is OrderSide(order.side)
            assert request.time_in_force is TimeInForce(time_in_force)
            assert request.type.value == "market"
            assert len(request.client_order_id) <= LONGEST
            assert 0.0 <= order.qty - request.qty <= 1.1e-9
            if time_in_force == "opg":
                assert request.qty == int(request.qty)
        assert "BRK.B" in {row["symbol"] for row in found}
    with pytest.raises(ParameterError, match="opg, the opening auction, takes whole shares only; add --whole-shares"):
        orders_for(PANEL, "pa", ACCOUNT, time_in_force="opg")


def test_what_alpaca_does_not_take_is_left_out_and_said() -> None:
    plan = orders_for(PANEL, "pa", Account(2.0))
    table, left = plan.rows("alpaca")
    assert len(table) + len(left) == len(plan)
    assert left
    assert all("below Alpaca's minimum of 1" in line for line in left)


def test_the_basket_of_interactive_brokers() -> None:
    plan = orders_for(PANEL, "pa", ACCOUNT, WHOLE, name="fund")
    text = plan.to_csv(broker="ibkr")
    assert text.splitlines()[0] == "Action,Quantity,Symbol,SecType,Exchange,Currency,TimeInForce,OrderType,BasketTag"
    assert ", " not in text
    found = rows(text)
    assert [row["Action"] for row in found] == [side.upper() for side in plan.table["side"]]
    assert all(row["Quantity"].isdigit() for row in found)
    assert {row["SecType"] for row in found} == {"STK"}
    assert {row["TimeInForce"] for row in found} == {"DAY"}
    assert "BRK B" in {row["Symbol"] for row in found}
    assert {row["BasketTag"] for row in found} <= {f"fund-{PANEL.day(-1)}-{batch}" for batch in (1, 2)}
    with pytest.raises(ParameterError, match=r"takes whole shares.*add --whole-shares"):
        orders_for(PANEL, "pa", ACCOUNT).to_csv(broker="ibkr")
    with pytest.raises(ParameterError, match="the format 'etrade' is unknown; choose one of generic, alpaca, ibkr"):
        plan.to_csv(broker="etrade")


def test_a_file_is_written_whole_and_names_are_spelt_by_the_table(tmp_path: Path) -> None:
    spelling = Spelling({"alpaca": {"KO": "KO.X"}})
    plan = orders_for(PANEL, "pa", ACCOUNT, spelling=spelling)
    text = plan.to_csv(tmp_path / "orders.csv", broker="alpaca")
    assert (tmp_path / "orders.csv").read_text() == text
    assert "KO.X," in text
    with pytest.raises(TrackerError, match="cannot write"):
        plan.to_csv(tmp_path / "absent" / "orders.csv")


# -- what is held ----------


def test_prices_must_be_money() -> None:
    def with_price(factor: float) -> Account:
        return Account(250.0, HELD, {name: LAST[name] * (factor if name == "AAPL" else 1.0) for name in HELD})

    assert len(orders_for(PANEL, "pa", with_price(1.019)))
    for factor, words in (
        (1.03, "Prices that are adjusted for dividends, rebased or out of date"),
        (4.0, "the ratio of a 4-for-1 split"),
        (1.5, "the ratio of a 3-for-2 split"),
        (0.1, "the ratio of a 1-for-10 reverse split"),
    ):
        with pytest.raises(AccountError, match=rf"AAPL: its price is .* in the holdings .* {words}"):
            orders_for(PANEL, "pa", with_price(factor))
    adjusted = Account(250.0, HELD, {name: 1.1 * LAST[name] for name in HELD})
    with pytest.raises(AccountError, match="3 of 3 held names differ by more than 2 %"):
        orders_for(PANEL, "pa", adjusted)


def test_a_held_name_without_a_price_on_the_last_bar_is_refused() -> None:
    close = PANEL.close.copy()
    close[-1, 0] = np.nan
    panel = replace(PANEL, close=close, open=None, high=None, low=None, volume=None)
    with pytest.raises(AccountError, match=f"AAPL is held but has no price on {PANEL.day(-1)}"):
        orders_for(panel, "pa", ACCOUNT)
    assert len(orders_for(panel, "pa", Account(250.0, {"XOM": 61.0})))


def test_names_outside_the_data_are_refused_kept_or_sold() -> None:
    account = Account(250.0, {**HELD, "TSLA": 10.0}, {"TSLA": 200.0})
    with pytest.raises(AccountError, match="TSLA is held but not in the data"):
        orders_for(PANEL, "pa", account)
    kept = orders_for(PANEL, "pa", account, outside="keep")
    assert kept.to_csv() == orders_for(PANEL, "pa", ACCOUNT).to_csv()
    sold = orders_for(PANEL, "pa", account, outside="sell", costs=CostModel(bps=10))
    (order,) = sold.table[sold.table["symbol"] == "TSLA"].itertuples()
    assert (order.side, order.qty, order.est_price, order.reason, order.batch) == ("sell", 10.0, 200.0, "exit", 1)
    assert sold.figures["value"] == pytest.approx(kept.figures["value"] + 2000.0 * (1 - 0.001))
    assert sold.figures["cash_after"] >= -1e-9
    assert set(sold.table.loc[sold.table["side"] == "buy", "batch"]) == {1, 2}


# -- refusals ----------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"fill": "open"}, "fill='open' sizes orders by the opening prices, which are not known the evening before"),
        ({"holdings": {"AAPL": 1}}, "holdings=.* works in backtests only. For an order list: the account states what is held"),
        ({"trade_from": "2020-01-02"}, "works in backtests only"),
        ({"capital": 0.5}, "works in backtests only"),
        ({"epss": 1}, "pa has no parameter 'epss'"),
        ({"max_weight": 0.05}, "max_weight"),
        ({"assets": "AAPL,NOPE"}, "NOPE"),
    ],
)
def test_what_makes_no_list_is_refused(params: dict[str, Any], words: str) -> None:
    with pytest.raises(TrackerError, match=words):
        orders_for(PANEL, "pa", ACCOUNT, params)


def test_bad_dates_accounts_and_panels_are_refused() -> None:
    for as_of, words in (("soon", "is not a date"), ("2019-01-01", "the data have no bar of that date"), (3.5, "is not a date")):
        with pytest.raises(TrackerError, match=words):
            orders_for(PANEL, "pa", ACCOUNT, as_of=as_of)
    with pytest.raises(TrackerError, match=r"must be positive|worth"):
        orders_for(PANEL, "pa", Account(0.0))
    with pytest.raises(DataError):
        orders_for(PANEL.rows(0, 2), "pa", Account(5.0))
    assert len(orders_for(PANEL, "pa", Account(100.0), {"assets": "AAPL,KO"})) <= 2


# -- sessions ----------


def ending(day: str) -> MarketPanel:
    """The panel with its last bar on a date, and one bar per weekday before."""
    days = np.busday_offset(day, np.arange(1 - PANEL.n_bars, 1), roll="backward")
    return replace(PANEL, dates=days.astype("datetime64[ns]"))


@pytest.mark.parametrize(
    ("last", "now", "words"),
    [
        ("2024-01-05", "2024-01-05T22:00", ""),  # a Friday, in the evening
        ("2024-01-05", "2024-01-07T12:00", ""),  # on Sunday it is still the last
        ("2024-01-05", "2024-01-08T10:00", ""),  # on Monday before the open, too
        ("2024-01-05", "2024-01-08T16:00", ""),  # and before the close
        (
            "2024-01-05",
            "2024-01-08T22:00",
            "stale: their last bar is of 2024-01-05, but the last completed session of XNYS is 2024-01-08",
        ),
        ("2024-01-08", "2024-01-08T16:00", "whose session at XNYS closes at 2024-01-08 21:00 UTC"),
        ("2024-01-08", "2024-01-08T10:00", "opens at 2024-01-08 14:30 UTC"),
        ("2024-01-15", "2024-01-15T23:00", "2024-01-15, which is not a session of XNYS"),  # a holiday
        ("2019-01-04", "2024-01-08T22:00", "stale"),
    ],
)
def test_the_last_bar_must_be_that_of_the_last_completed_session(last: str, now: str, words: str) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    if not words:
        assert "last completed session of XNYS" in check_session(ending(last), now=moment)
        return
    with pytest.raises(DataError, match=words):
        check_session(ending(last), now=moment)
    if "UTC" in words:  # a close that is not known cannot be meant
        with pytest.raises(DataError, match=words):
            check_session(ending(last), as_of=last, now=moment)
    else:
        assert f"as of {last}, as requested" in check_session(ending(last), as_of=last, now=moment)


def test_other_exchanges_and_other_bars() -> None:
    moment = datetime(2024, 1, 8, 12, tzinfo=UTC)
    assert "XTKS" in check_session(ending("2024-01-05"), "XTKS", now=moment)  # Tokyo has a holiday on the eighth
    with pytest.raises(ParameterError, match="no calendar named 'XXXX'"):
        check_session(ending("2024-01-05"), "XXXX", now=moment)
    weeks = np.arange(PANEL.n_bars) * np.timedelta64(7, "D") + (np.datetime64("2024-01-05") - np.timedelta64(7 * 59, "D"))
    weekly = replace(PANEL, dates=weeks.astype("datetime64[ns]"))
    assert check_session(weekly, now=datetime(2024, 1, 11, 12, tzinfo=UTC))
    with pytest.raises(DataError, match="stale"):
        check_session(weekly, now=datetime(2024, 1, 20, 12, tzinfo=UTC))


# -- weights of the index ----------


def test_weights_without_dates_are_those_of_today() -> None:
    weights = dict(zip(PANEL.symbols, (0.3, 0.1, 0.2, 0.2, 0.1, 0.1), strict=True))
    plan = orders_for(PANEL, "replicate", ACCOUNT, index_weights=weights)
    targets = dict(zip(plan.table["symbol"], plan.table["weight_target"], strict=True))
    assert targets == pytest.approx({name: weights[name] for name in targets}, abs=0.02)  # as prices have carried them since
    plain, informed = (orders_for(PANEL, "ensemble", ACCOUNT, index_weights=given) for given in (None, weights))
    assert plain.to_csv() != informed.to_csv()
    scaled = orders_for(PANEL, "ensemble", ACCOUNT, index_weights={name: 0.99 * w for name, w in weights.items()})
    assert any("were rescaled to 1" in note for note in scaled.notes)
    np.testing.assert_allclose(scaled.table["qty"], informed.table["qty"], rtol=1e-9)
    for bad, words in (({"AAPL": 0.4}, "sum to 0.4"), ("absent.csv", "absent.csv"), (3, "must be")):
        with pytest.raises(TrackerError, match=words):
            orders_for(PANEL, "ensemble", ACCOUNT, index_weights=bad)
    with pytest.raises(ParameterError, match="given twice"):
        orders_for(PANEL, "ensemble", ACCOUNT, {"index_weights": weights}, index_weights=weights)


# -- what a list says of fees, and of names that are sold for good ----------


def test_a_fee_that_makes_trading_pointless_is_said_and_is_why_nothing_is_ordered() -> None:
    plan = orders_for(PANEL, "pa", ACCOUNT, costs=CostModel(min_fee=50_000.0))
    assert not len(plan)
    assert "no orders: fees, lots or limits leave the holdings as they are, up to " in plan.foot[0]
    assert any("a fee of at least 50,000 per order makes trading pointless" in line for line in plan.foot)
    named = orders_for(PANEL, "pa", ACCOUNT, {"fees": {"*": {"min_fee": 900.0}, "AAPL": {"min_fee": 1.0}}})
    assert any("a fee of at least 1 to 900 per order makes trading pointless" in line for line in named.foot)
    assert not any("pointless" in line for line in orders_for(PANEL, "pa", ACCOUNT, costs=COSTS).foot)


def test_a_name_that_is_sold_from_outside_the_data_has_its_weight_and_is_turnover() -> None:
    account = Account(250.0, {**HELD, "TSLA": 40.0}, {"TSLA": 100.0})
    plan = orders_for(PANEL, "pa", account, outside="sell")
    (sold,) = plan.table[plan.table["symbol"] == "TSLA"].to_dict("records")
    value = plan.figures["value"]
    assert sold["weight_now"] == pytest.approx(4000.0 / value)
    assert plan.table["weight_now"].sum() == pytest.approx(1.0 - 250.0 / value)
    assert plan.figures["turnover"] == pytest.approx(plan.table["est_value"].sum() / value)


def test_a_withdrawal_is_refused_with_the_date_that_it_has() -> None:
    with pytest.raises(AccountError, match=r"the withdrawal of 1,000,000\.00 on 2031-05-06 is larger than the account"):
        orders_for(PANEL, "pa", ACCOUNT, flow=-1e6, flow_date="2031-05-06")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"panel": PANEL.to_frame()}, "panel must be a MarketPanel, got DataFrame; open prices with datafeeds.open_source"),
        ({"costs": 5}, r"costs must be a CostModel, such as CostModel\(bps=5\), got 5"),
        ({"state": 5}, "state must be the path of a folder, got 5"),
        ({"strategy": None}, "strategy=None must be a name, such as 'ensemble', or a subclass of TrackerStrategy"),
        ({"strategy": dict}, "must be a name, such as 'ensemble', or a subclass of TrackerStrategy"),
    ],
    ids=lambda case: ", ".join(case) if isinstance(case, dict) else "",
)
def test_what_cannot_be_meant_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"panel": PANEL, "strategy": "pa", "account": ACCOUNT} | changes
    with pytest.raises(ParameterError, match=words):
        orders_for(**given)


def test_index_weights_are_known_by_the_names_of_brokers() -> None:
    weights = dict.fromkeys(PANEL.symbols, 1 / 6)
    spelt = {name.replace("-", "."): weight for name, weight in weights.items()}
    plan, other = (orders_for(PANEL, "replicate", ACCOUNT, index_weights=given) for given in (weights, spelt))
    assert other.to_csv() == plan.to_csv()
    assert "index weights: BF.B is BF-B in the data, BRK.B is BRK-B in the data" in other.notes
    with pytest.raises(ParameterError, match=r"index_weights contain BRK\.B and BRK-B, which are one name; keep one"):
        orders_for(PANEL, "replicate", ACCOUNT, index_weights={**weights, "BRK.B": 0.0})
    with pytest.raises(ParameterError, match=r"index_weights contain BRK B and BRK\.B, which are one name; keep one"):
        orders_for(PANEL, "replicate", ACCOUNT, index_weights={**spelt, "BRK B": 0.0})
    with pytest.raises(ParameterError, match=r"with a positive sum, got \{KO: -0\.1\}"):
        orders_for(PANEL, "replicate", ACCOUNT, index_weights={**weights, "KO": -0.1})


@pytest.mark.parametrize("share", [1.0, -0.5])
def test_weights_now_and_limits_held_before_do_not_know_the_money_that_moves(share: float) -> None:
    held = {name: 100_000.0 / 6 / LAST[name] for name in PANEL.symbols}
    plan = orders_for(PANEL, "pa", Account(0.0, held), {"max_weight": 0.17, "min_cash": 0.0}, flow=share * 100_000.0)
    np.testing.assert_allclose(plan.table["weight_now"], 1 / 6, rtol=1e-12)
    assert not any("held outside a limit" in line for line in plan.foot)
