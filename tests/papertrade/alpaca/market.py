"""A market and an account at Alpaca's for the tests: its sessions, its evenings, and the server that fills its orders."""

import numpy as np
import pandas as pd
import pytest

from datafeeds import MarketPanel
from tests.papertrade.alpaca.server import KEY, SECRET, serving
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.brokers import alpaca_endpoint as endpoint
from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker

SESSIONS = pd.DatetimeIndex(["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-06", "2024-05-07", "2024-05-08", "2024-05-09"])
NAMES = ("AAA", "BBB", "CCC", "DDD", "EEE", "FFF")


def market(n=None, seed=1):
    rng = np.random.default_rng(seed)
    walk = rng.standard_normal((len(SESSIONS), len(NAMES))) * 0.003
    walk[4:, 0] += 0.05  # so that there is something to sell
    close = np.array([50.0, 120.0, 8.0, 300.0, 20.0, 75.0]) * np.exp(walk.cumsum(axis=0))
    index = close @ np.array([3.0, 1.0, 20.0, 0.5, 8.0, 2.0])
    return MarketPanel(SESSIONS[:n], NAMES, close[:n].round(2), ("INDEX",), index[:n, None])


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv(endpoint.KEY, KEY)
    monkeypatch.setenv(endpoint.SECRET, SECRET)
    monkeypatch.setattr(endpoint, "TIMEOUT", (1.0, 0.3))


@pytest.fixture
def alpaca(keys):
    with serving(prices=dict(zip(NAMES, market().close[3], strict=True))) as server:
        yield server


def broker(alpaca):
    return AlpacaBroker(KEY, SECRET, alpaca.url, pause=lambda seconds: None)


def open_account(place, alpaca, start=3, strategy="equal-weight", source="memory", **options):
    return PaperAccount.create(
        place, strategy, source, panel=market(start + 1), broker="alpaca", url=alpaca.url, name="test", **options
    )


def step(account, n, **options):
    return PaperAccount(account.folder, pause=lambda seconds: None).step(market(n), **options)


def closes(n):
    return dict(zip(NAMES, market().close[n - 1].tolist(), strict=True))


def next_session(alpaca, n, part=1.0):
    """The market opens, trades at the closes of session n, and closes again; then it is evening."""
    alpaca.steer("open", prices=closes(n), part=part)
    day = SESSIONS[n - 1].date()
    alpaca.at(f"{day}T19:59:00+00:00")


def evening(alpaca, n):
    alpaca.steer("close")
    alpaca.at(f"{SESSIONS[n - 1].date()}T20:30:00+00:00")
