"""Several markets described in a file: what ``--markets`` takes, and :meth:`MultiIndexData.from_toml` in Python.

::

    base = "USD"                      # currency of the panel; by default that of the decision market
    decision = "NY"                   # by default the market that closes last

    [markets.NY]
    prices = "us.csv"                 # any file or folder that --data takes, beside this file
    index = "SPX"
    exchange = "XNYS"                 # or: timezone = "America/New_York", close = "16:00"
    currency = "USD"

    [markets.TOKYO]
    prices = "japan.csv"
    index = "NKY"
    timezone = "Asia/Tokyo"
    close = "15:30"
    currency = "JPY"
    gaps = "freeze"

    [rates]                           # units of the base currency per unit of the other
    JPY = "jpyusd.csv"                # or: { file = "jpyusd.csv", timezone = "Europe/London", close = "16:00" }
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datafeeds.calendars import calendar_of
from datafeeds.cleaning.cleaner import clean
from datafeeds.errors import DataError, ParameterError, UniverseError
from datafeeds.markets.market import ExchangeRate, Market
from datafeeds.markets.union_calendar import join_markets
from datafeeds.panel import MarketPanel
from datafeeds.readers.columns import naming
from datafeeds.readers.containers import split_inside
from datafeeds.readers.reading import Reading, noted, reading_as
from datafeeds.texts import did_you_mean
from datafeeds.universe.members import with_members
from datafeeds.universe.renames import read_renames, rename

if TYPE_CHECKING:
    from datafeeds.market_source import MarketSource

_FILE = ("base", "decision", "fx_carry", "markets", "rates")
_MARKET = ("prices", "index", "exchange", "timezone", "close", "currency", "gaps")
_RATE = ("file", "timezone", "close")


def read_market_file(path: str | os.PathLike[str], **how: Any) -> MarketPanel:
    """The panel of the markets that a TOML file describes; `how` are ``dates``, ``decimal`` and ``calendar`` of its files.

    Raises
    ------
    DataError, UniverseError, ParameterError
        On one line that begins with the name of the file.
    """
    file = Path(path).expanduser()
    with naming(file), reading_as(Reading(**how)) as notes:
        told = _told(file)
        _known("the file", told, _FILE)
        markets = {name: _market(name, table, file.parent) for name, table in _table("markets", told).items()}
        if not markets:
            raise UniverseError(
                "the file describes no market; add a table such as [markets.NY] with prices, index, exchange and currency"
            )
        rates = {code: _rate(code, rate, file.parent) for code, rate in _table("rates", told).items()}
        options = {key: told[key] for key in ("decision", "base", "fx_carry") if key in told}
        panel = join_markets(markets, fx=rates or None, **options)
        return noted(replace(panel, source=file.name), notes)


def currencies_of(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The currencies in which the markets of such a file are quoted, in alphabetical order."""
    file = Path(path).expanduser()
    with naming(file):
        tables = _table("markets", _told(file)).values()
        return tuple(sorted({str(one["currency"]) for one in tables if isinstance(one, Mapping) and one.get("currency")}))


def _told(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"not a TOML file ({error})") from None
    except FileNotFoundError:
        raise DataError("no such file; check the path") from None


def open_market_file(market: MarketSource) -> MarketPanel:
    """The panel of a source that is such a file, with what else was asked for."""
    refused = {"index_file": market.index_file, "not_assets": market.not_assets, "adjust": market.adjust != "split"}
    odd = next((name for name, value in refused.items() if value), None)
    if odd is not None:
        raise ParameterError(
            f"{odd.replace('_', '-')} does not work with a file of markets, which describes the columns of each market; remove it"
        )
    panel = read_market_file(market.source, dates=market.dates, decimal=market.decimal, calendar=market.calendar)
    if market.targets != ("INDEX",) and set(market.targets) != set(panel.targets):
        raise UniverseError(
            f"--index {', '.join(market.targets)}: {market.source} tracks {', '.join(panel.targets)}; name targets in that file"
        )
    changes = () if market.renames is None else read_renames(market.renames)
    panel = rename(panel, changes)
    if market.clean is not None:
        panel = clean(panel, policy=market.clean)[0]
    return panel if market.members is None else with_members(panel, market.members, changes)


def _market(name: str, told: Any, folder: Path) -> Market:
    if not isinstance(told, Mapping):
        raise DataError(f"[markets.{name}] must be a table with prices, index, exchange and currency, got {told!r}")
    _known(f"[markets.{name}]", told, _MARKET)
    if "prices" not in told:
        raise DataError(f"[markets.{name}] has no prices; name a file or folder, prices = 'us.csv'")
    zone, close = told.get("timezone"), told.get("close")
    if "exchange" in told:
        hours = calendar_of(str(told["exchange"]), "2024-01-02", "2024-12-30")
        zone = zone or str(hours.tz)
        close = close or f"{max(time for _, time in hours.close_times):%H:%M}"
    if zone is None or close is None:
        raise DataError(f"[markets.{name}] needs exchange = 'XNYS', or timezone and close, which state when its prices are known")
    index = told.get("index", ())
    return Market(
        _beside(folder, told["prices"], name),
        index if isinstance(index, str) else tuple(map(str, index)),
        str(zone),
        str(close),
        currency=told.get("currency"),
        gaps=told.get("gaps", "error"),
    )


def _rate(code: str, told: Any, folder: Path) -> ExchangeRate:
    if isinstance(told, str):
        return ExchangeRate(_beside(folder, told, code))
    if not isinstance(told, Mapping) or "file" not in told:
        raise DataError(f"rates of {code} must be a file, or a table with file, timezone and close, got {told!r}")
    _known(f"rates of {code}", told, _RATE)
    return ExchangeRate(
        _beside(folder, told["file"], code), **{key: str(told[key]) for key in ("timezone", "close") if key in told}
    )


def _beside(folder: Path, path: Any, name: str) -> str:
    """A path beside the file that names it."""
    if not isinstance(path, str):
        raise DataError(f"{name}: a path is needed, got {path!r}")
    file, part = split_inside(folder / Path(path).expanduser())
    if not file.exists():
        raise DataError(f"{name}: no such file or folder, {path}; paths are relative to the folder of the file of markets")
    return str(file) if part is None else f"{file}:{part}"


def _table(name: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
    table = told.get(name, {})
    if not isinstance(table, Mapping):
        raise DataError(f"{name} must be a table, got {table!r}")
    return table


def _known(where: str, told: Iterable[str], known: tuple[str, ...]) -> None:
    odd = next((key for key in told if key not in known), None)
    if odd is not None:
        raise ParameterError(f"{where} has an unknown key {odd!r}; known are {', '.join(known)}{did_you_mean(odd, known)}")
