"""A folder of daily price series that survives crashes, damage and several users at once.

One Parquet file per series holds the bars as they were traded, with every dividend and split (see :mod:`datafeeds.adjustment`),
and says what it covers. A file is replaced whole, under a lock, and carries a digest of its content: what comes out is what went
in, or the file is reported as damaged.

    FOLDER/yahoo/daily/AAPL.parquet        the series; %5EGSPC.parquet is ^GSPC
    FOLDER/yahoo/daily/quarantine/         damaged files, kept for whoever wants to look
    FOLDER/yahoo/locks/AAPL.lock           who refreshes it
    FOLDER/yahoo/yfinance/                 time zones and cookies that yfinance remembers
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from platformdirs import user_cache_path

from datafeeds.adjustment import COLUMNS
from datafeeds.errors import DataError
from datafeeds.files import remove_unfinished, replace_file
from datafeeds.locks import locked

#: Version of the layout of a file.
LAYOUT = 1
_META = b"price series"


class CacheError(DataError):
    """The cache folder cannot be used: not writable, full, or not a folder."""


class DamagedFileError(DataError):
    """A cached file is not what was written."""


@dataclass(frozen=True, eq=False)
class PriceSeries:
    """Daily bars of one ticker and what they cover.

    Parameters
    ----------
    ticker : str
        Its name at the vendor.
    bars : DataFrame
        Naive ascending dates and the columns of :data:`datafeeds.adjustment.COLUMNS`, as traded. Every row has a positive close.
    asked_from, covered_until : date
        Every session between the two that the vendor knows of is among the bars.
    fetched_at : datetime
        When the vendor was last asked, in UTC.
    currency : str
        Of the prices.
    """

    ticker: str
    bars: pd.DataFrame
    asked_from: date
    covered_until: date
    fetched_at: datetime
    currency: str = ""

    def between(self, start: date, end: date | None) -> pd.DataFrame:
        """The bars from `start` to `end`, both included, or to the last."""
        return self.bars.loc[pd.Timestamp(start) : None if end is None else pd.Timestamp(end)]

    @property
    def last_day(self) -> date:
        """Date of the last bar."""
        day: date = self.bars.index[-1].date()
        return day


class PriceCache:
    """Price series in a folder.

    Parameters
    ----------
    folder : path, optional
        By default ``$TRACKER_CACHE``, or ``index-tracker`` in the user's cache folder, wherever the system has that.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.root = (default_folder() if folder is None else Path(folder).expanduser()) / "yahoo"
        self.series = self.root / "daily"
        self.quarantine = self.series / "quarantine"
        self.locks = self.root / "locks"

    def prepare(self) -> None:
        """Make the folders and try to write, so that an unusable place is told before anything is fetched."""
        probe = self.locks / f"probe.{os.getpid()}"
        try:
            for folder in (self.quarantine, self.locks):
                folder.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise CacheError(
                f"cannot write to the price cache {self.root} ({error.strerror}); choose another folder with --cache"
            ) from None

    def path(self, ticker: str) -> Path:
        """The file of a ticker."""
        return self.series / f"{_file_name(ticker)}.parquet"

    def lock(self, ticker: str, timeout: float) -> AbstractContextManager[None]:
        """To be held while a series is refreshed; reading needs none."""
        return locked(self.locks / f"{_file_name(ticker)}.lock", ticker, timeout=timeout)

    def read(self, ticker: str) -> PriceSeries | None:
        """The cached series, or None when there is none.

        Raises
        ------
        DamagedFileError
            The file is truncated, altered, of another ticker or of another layout.
        """
        path = self.path(ticker)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CacheError(
                f"cannot read {path} ({error.strerror}); correct its permissions, or choose another folder with --cache"
            ) from None
        try:
            series = _decode(content)
        except DamagedFileError as error:
            raise DamagedFileError(f"{path.name}: {error}") from None
        if series.ticker != ticker:
            raise DamagedFileError(f"{path.name}: holds {series.ticker} instead of {ticker}")
        return series

    def write(self, series: PriceSeries) -> None:
        """Replace the file of a series. The caller holds its lock."""
        path = self.path(series.ticker)
        try:
            remove_unfinished(path)
            replace_file(path, _encode(series))
        except OSError as error:
            raise CacheError(f"cannot write {path} ({error.strerror}); the older file is unchanged") from None

    def put_aside(self, ticker: str) -> Path:
        """Move a damaged file into quarantine and say where it is. The caller holds its lock."""
        path = self.path(ticker)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        place = self.quarantine / f"{path.stem}.{stamp}.parquet"
        try:
            os.replace(path, place)
        except OSError as error:
            raise CacheError(f"cannot move the damaged file {path} aside ({error.strerror}); delete it") from None
        return place


def default_folder() -> Path:
    """Where prices are kept when nobody says otherwise."""
    own = os.environ.get("TRACKER_CACHE")
    return Path(own).expanduser() if own else user_cache_path("index-tracker", appauthor=False)


def _file_name(ticker: str) -> str:
    """A name that every file system takes and that cannot leave the folder."""
    return quote(ticker, safe="")


# -- content of a file ----------


def _encode(series: PriceSeries) -> bytes:
    about = {
        "layout": LAYOUT,
        "ticker": series.ticker,
        "asked_from": series.asked_from.isoformat(),
        "covered_until": series.covered_until.isoformat(),
        "fetched_at": series.fetched_at.astimezone(UTC).isoformat(),
        "currency": series.currency,
    }
    days = series.bars.index.to_numpy(dtype="datetime64[D]")
    columns = {name: series.bars[name].to_numpy(dtype=np.float64) for name in COLUMNS}
    about["sha256"] = _digest(about, days, columns)
    table = pa.table({"date": pa.array(days), **{name: pa.array(values) for name, values in columns.items()}})
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({_META: json.dumps(about)}), buffer)
    return buffer.getvalue()


def _decode(content: bytes) -> PriceSeries:
    try:
        table = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)
        about = json.loads((table.schema.metadata or {})[_META])
        if about["layout"] != LAYOUT:
            raise DamagedFileError(f"has layout {about['layout']}, this version reads {LAYOUT}")
        days = table.column("date").to_numpy().astype("datetime64[D]")
        columns = {name: table.column(name).to_numpy() for name in COLUMNS}
        if about.pop("sha256") != _digest(about, days, columns):
            raise DamagedFileError("its content has changed since it was written (wrong digest)")
        return PriceSeries(
            about["ticker"],
            pd.DataFrame(columns, index=pd.DatetimeIndex(days.astype("datetime64[ns]"), name="date")),
            date.fromisoformat(about["asked_from"]),
            date.fromisoformat(about["covered_until"]),
            datetime.fromisoformat(about["fetched_at"]),
            about["currency"],
        )
    except DamagedFileError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, MemoryError) as error:
        raise DamagedFileError(f"is not a readable price series ({type(error).__name__})") from None


def _digest(about: dict[str, Any], days: np.ndarray[Any, Any], columns: dict[str, np.ndarray[Any, Any]]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    digest.update(days.astype("<i8").tobytes())
    for values in columns.values():
        digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return digest.hexdigest()
