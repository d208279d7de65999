"""What the server that stands for Alpaca knows: money, shares, orders and their fills, and the trouble that tests ask for.

It checks buying power and shares as Alpaca does, fills market orders when its market is open, and lets day orders expire when
it closes.
"""

from __future__ import annotations

import math
import random
import threading
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

OVER = ("filled", "canceled", "expired", "rejected")
#: Every kind of trouble, once before and once after the request was processed where that makes a difference.
TROUBLE = (
    "429", "500", "502", "503", "504", "drop_before", "drop_after", "stall_before", "stall_after",
    "html", "html_after", "truncated_after", "short_after",
)  # fmt: skip


class Account:
    """What the broker knows."""

    def __init__(self, cash: float, prices: dict[str, float]) -> None:
        self.lock = threading.RLock()
        self.cash, self.prices, self.positions = cash, dict(prices), {}
        self.orders: dict[str, dict[str, Any]] = {}
        self.by_client: dict[str, str] = {}
        self.open, self.part = False, 1.0
        self.now = datetime(2024, 5, 6, 20, 30, tzinfo=UTC)
        self.rules: dict[str, str] = {}
        self.lies: dict[str, str] = {}
        self.holiday = ""
        self.faults: list[str] = []
        self.broken: list[str] = []
        self.fault_rate, self.rng, self.stall = 0.0, random.Random(0), 0.4
        self.log: list[list[Any]] = []
        self.canned: list[Any] = []
        self.updates: list[dict[str, Any]] = []

    def stamp(self) -> str:
        self.now += timedelta(milliseconds=1)
        return self.now.isoformat().replace("+00:00", "Z")

    def asset(self, symbol: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, symbol))

    # -- orders ----------

    def place(self, body: dict[str, Any]) -> tuple[int, Any]:
        client, symbol, qty = body.get("client_order_id") or str(uuid.uuid4()), body.get("symbol"), float(body.get("qty") or 0.0)
        if client in self.by_client:
            return 422, {"code": 40010001, "message": "client_order_id must be unique"}
        if len(client) > 128:
            return 422, {"code": 40010001, "message": "client_order_id must be no more than 128 characters"}
        if symbol not in self.prices:
            return 422, {"code": 42210000, "message": f'asset "{symbol}" not found'}
        rule = self.rules.get(symbol, "")
        if rule == "inactive":
            return 422, {"code": 42210000, "message": f'asset "{symbol}" is not active'}
        if rule == "whole" and qty != int(qty):
            return 403, {"code": 40310000, "message": f'asset "{symbol}" is not fractionable'}
        if not qty > 0.0 or round(qty, 9) != qty:
            return 422, {"code": 42210000, "message": "qty must be > 0 with at most 9 decimals"}
        if qty != int(qty) and (body.get("type"), body.get("time_in_force")) != ("market", "day"):
            return 422, {"code": 42210000, "message": "fractional orders must be DAY orders"}
        waiting = [o for o in self.orders.values() if o["status"] not in OVER]
        price = self.prices[symbol]
        if body["side"] == "buy":
            reserved = sum(
                (float(o["qty"]) - float(o["filled_qty"])) * self.prices[o["symbol"]] for o in waiting if o["side"] == "buy"
            )
            if qty * price < 1.0:
                return 403, {"code": 40310000, "message": "cost basis must be >= minimal amount of order 1"}
            if qty * price > self.cash - reserved + 1e-9:
                return 403, {"code": 40310000, "message": "insufficient buying power", "buying_power": str(self.cash - reserved)}
        else:
            asked = sum(
                float(o["qty"]) - float(o["filled_qty"]) for o in waiting if o["side"] == "sell" and o["symbol"] == symbol
            )
            if qty > self.positions.get(symbol, 0.0) - asked + 1e-9:
                return 403, {"code": 40310000, "message": f"insufficient qty available for order (requested: {qty})"}
        stamp = self.stamp()
        nothing = dict.fromkeys(
            ("filled_at", "expired_at", "canceled_at", "failed_at", "replaced_at", "replaced_by", "replaces", "notional",
             "filled_avg_price", "limit_price", "stop_price", "legs", "trail_percent", "trail_price", "hwm")
        )  # fmt: skip
        order = {
            **nothing,
            "id": self.asset(client),
            "client_order_id": client,
            "created_at": stamp,
            "updated_at": stamp,
            "submitted_at": stamp,
            "asset_id": self.asset(symbol),
            "symbol": symbol,
            "asset_class": "us_equity",
            "qty": _text(qty),
            "filled_qty": "0",
            "order_class": "",
            "order_type": body["type"],
            "type": body["type"],
            "side": body["side"],
            "time_in_force": body["time_in_force"],
            "status": "accepted",
            "extended_hours": False,
        }
        self.orders[order["id"]] = order
        self.by_client[client] = order["id"]
        if self.open:
            self.fill(order)
        return 200, order

    def fill(self, order: dict[str, Any]) -> None:
        qty, sign, symbol = float(order["qty"]), 1.0 if order["side"] == "buy" else -1.0, order["symbol"]
        if self.rules.get(symbol) == "halted":
            return
        if self.rules.get(symbol) == "rejects":
            order.update(status="rejected", failed_at=self.stamp())
            return
        done = float(order["filled_qty"])
        more = round(qty * self.part, 9) - done if self.part < 1.0 else qty - done
        if more <= 0.0:
            return
        price = self.prices[symbol]
        self.cash -= sign * more * price
        self.positions[symbol] = self.positions.get(symbol, 0.0) + sign * more
        if abs(self.positions[symbol]) < 1e-9:
            del self.positions[symbol]
        average = (done * float(order["filled_avg_price"] or 0.0) + more * price) / (done + more)
        whole = done + more >= qty - 1e-12
        order.update(
            filled_qty=order["qty"] if whole else _text(done + more),
            filled_avg_price=_text(average),
            status="filled" if whole else "partially_filled",
            updated_at=self.stamp(),
            filled_at=self.stamp() if whole else None,
        )
        news = {
            "event": "fill" if whole else "partial_fill",
            "order": dict(order),
            "timestamp": self.stamp(),
            "price": _text(price),
        }
        self.updates.append(news | {"qty": _text(more), "position_qty": _text(self.positions.get(symbol, 0.0))})

    def cancel(self, number: str) -> tuple[int, Any]:
        order = self.orders.get(number)
        if order is None:
            return 404, {"code": 40410000, "message": "order not found"}
        if order["status"] in OVER:
            return 422, {"code": 42210000, "message": f'order is already in "{order["status"]}" state'}
        order.update(status="canceled", canceled_at=self.stamp())
        return 204, None

    # -- views ----------

    def told(self, order: dict[str, Any]) -> dict[str, Any]:
        """An order as the broker tells of it: with lies about its fill, if it has to."""
        lie, filled, size = self.lies.get(order["symbol"], self.lies.get("", "")), float(order["filled_qty"]), float(order["qty"])
        if not lie or not filled:
            return order
        told = {
            "more": filled + 1e-6,
            "far more": 3.0 * filled,
            "rounded": round(filled, 6),
            "rounded up": math.ceil(filled * 1e6) / 1e6,
            "back": 0.0,
            "half": 0.5 * filled,
            "negative": -filled,
        }
        if lie == "free":
            return {**order, "filled_avg_price": "0"}
        if lie == "late":  # says that it is over, and fills all the same
            return {**order, "filled_qty": "0", "filled_avg_price": None, "status": "canceled"}
        again = {"status": "accepted"} if lie == "back" and filled < size else {}
        return {**order, "filled_qty": repr(told[lie]), **again}

    def account(self) -> dict[str, Any]:
        worth = sum(size * self.prices[s] for s, size in self.positions.items())
        money = {
            **dict.fromkeys(("equity", "last_equity", "portfolio_value"), self.cash + worth),
            **dict.fromkeys(("cash", "buying_power", "regt_buying_power"), self.cash),
            **dict.fromkeys(("short_market_value", "initial_margin", "maintenance_margin"), 0.0),
            "long_market_value": worth,
        }
        flags = ("trading_blocked", "transfers_blocked", "account_blocked", "trade_suspended_by_user", "shorting_enabled")
        return {
            "id": self.asset("account"),
            "account_number": "PA3TEST",
            "status": "ACTIVE",
            "currency": "USD",
            "multiplier": "1",
            "created_at": "2024-01-02T15:00:00Z",
            **{k: _text(v) for k, v in money.items()},
            **{flag: self.rules.get("account") == flag for flag in flags},
        }

    def position(self, symbol: str) -> dict[str, Any]:
        size, price = self.positions[symbol], self.prices[symbol]
        zero = dict.fromkeys(
            ("unrealized_pl", "unrealized_plpc", "unrealized_intraday_pl", "unrealized_intraday_plpc", "change_today"), "0"
        )
        return {
            **zero,
            "asset_id": self.asset(symbol),
            "symbol": symbol,
            "exchange": "NASDAQ",
            "asset_class": "us_equity",
            "avg_entry_price": _text(price),
            "qty": _text(size),
            "qty_available": _text(size),
            "side": "long" if size >= 0 else "short",
            "market_value": _text(size * price),
            "cost_basis": _text(size * price),
            "current_price": _text(price),
            "lastday_price": _text(price),
            "asset_marginable": True,
        }

    def listed(self, query: dict[str, str]) -> list[dict[str, Any]]:
        wanted = query.get("status", "open")
        found = [o for o in self.orders.values() if wanted == "all" or (o["status"] in OVER) == (wanted == "closed")]
        found.sort(key=lambda o: o["submitted_at"], reverse=query.get("direction", "desc") == "desc")
        if "until" in query:
            limit = datetime.fromisoformat(query["until"])
            found = [o for o in found if datetime.fromisoformat(o["submitted_at"]) < limit]
        return [self.told(o) for o in found[: min(int(query.get("limit", 50)), 500)]]

    def clock(self) -> dict[str, Any]:
        opens = self.now.replace(hour=13, minute=30, second=0, microsecond=0)  # summer time, no holidays
        while opens <= self.now or opens.weekday() > 4 or str(opens.date()) == self.holiday:
            opens += timedelta(days=1)
        return {
            "timestamp": self.now.isoformat(),
            "is_open": self.open,
            "next_open": opens.isoformat(),
            "next_close": (opens + timedelta(hours=6.5)).isoformat(),
        }

    # -- what tests may do ----------

    def steer(self, what: str, body: dict[str, Any]) -> Any:
        if what == "open":
            self.open, self.part = True, body.get("part", 1.0)
            self.prices.update(body.get("prices", {}))
            for order in [o for o in self.orders.values() if o["status"] not in OVER]:
                self.fill(order)
        elif what == "close":
            self.open = False
            for order in self.orders.values():
                if order["status"] not in OVER:
                    order.update(status="expired", expired_at=self.stamp())
        elif what == "split":
            name, ratio = body["name"], body["ratio"]
            self.prices[name] /= ratio
            if name in self.positions:
                self.positions[name] = round(self.positions[name] * ratio, 9)
        elif what == "rename":
            for known in (self.prices, self.positions):
                if body["old"] in known:
                    known[body["new"]] = known.pop(body["old"])
            for order in self.orders.values():
                if order["symbol"] == body["old"] and order["status"] not in OVER:
                    order["symbol"] = body["new"]
        elif what == "time":
            self.now = datetime.fromisoformat(body["now"])
        elif what == "set":
            for name, value in body.items():
                setattr(self, name, value)
        elif what == "rate":
            self.fault_rate, self.rng = body["rate"], random.Random(body["seed"])
        return {
            "cash": self.cash,
            "positions": self.positions,
            "orders": list(self.orders.values()),
            "log": self.log,
            "faults": self.faults,
        }

    def next_fault(self, method: str) -> str:
        """The next kind of trouble; ``POST drop_before`` waits for a request of that kind."""
        if self.faults:
            *kind, trouble = self.faults[0].split(" ")
            if kind and kind != [method]:
                return ""
            self.faults.pop(0)
            return trouble
        return self.rng.choice(TROUBLE) if self.rng.random() < self.fault_rate else ""


def _text(number: float) -> str:
    return f"{round(number, 9):.9f}".rstrip("0").rstrip(".") or "0"
