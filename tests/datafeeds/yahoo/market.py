"""The market that the tests of Yahoo fetch, and what they ask of an answer and of the cache; fixtures are in conftest."""

from zoneinfo import ZoneInfo

from datafeeds import Patience
from tests.datafeeds.yahoo.server import Listing, walk, weekdays

FAST = Patience(timeout=2.0, retries=1, pause=0.01, rate_limit_pause=0.01, longest_wait=0.05, lock_wait=20.0)
DAYS = weekdays("2023-01-02", 80)
START = "2023-01-01"
NEW_YORK = ZoneInfo("America/New_York")


def market():
    """An index, a stock that splits 4:1 on day 60 and pays two dividends, and one that lists late."""
    split = [
        price if day < DAYS[60] else round(price / 4, 2) for price, day in zip(walk(80, first=400.0, seed=2), DAYS, strict=True)
    ]
    return {
        "^GEN": Listing(DAYS, walk(80, first=4000.0, seed=1), kind="INDEX", volume=0),
        "AAA": Listing(DAYS, split, dividends={DAYS[30]: 2.0, DAYS[70]: 0.5}, splits={DAYS[60]: (4, 1)}),
        "BBB": Listing(DAYS[20:], walk(60, first=30.0, seed=3)),
    }


def statuses(fetched):
    return {outcome.ticker: str(outcome.status) for outcome in fetched.report}


def contents(cache):
    return {path.name: path.read_bytes() for path in cache.series.glob("*.parquet")}
