"""The journal as files for other programs: one table each, CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from datafeeds.files import named_errors, staged_file
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.papertrade.journal.history import History

FORMATS = ("csv", "parquet")
_PLAIN = ("actions", "orders", "fills", "cash", "positions", "events")


def tables_of(account: PaperAccount) -> dict[str, pd.DataFrame]:
    """Every table of the journal. Bars, decisions and balances are wide: a row per session, a column per name."""
    config = account.config
    with account.journal(readonly=True) as journal, journal.errors():
        found = {}
        for name in _PLAIN:
            columns = list(journal.form.shape.columns[name])
            found[name] = pd.DataFrame([tuple(r) for r in journal.table(name)], columns=columns)
        bars = History.load(journal, config).bars
        index = pd.Index(bars.sessions, name="session")
        for j, kind in enumerate(config.prices):
            data = np.hstack([bars.levels, bars.prices[:, j]]) if j == 0 else bars.prices[:, j]
            names = [*config.targets, *config.symbols] if j == 0 else list(config.symbols)
            found[f"bars_{kind}"] = pd.DataFrame(data, index, names).reset_index()
        for name, blob in (("decisions", "weights"), ("balances", "sizes")):
            rows = journal.table(name)
            plain = [k for k in journal.form.shape.columns[name] if k != blob]
            wide = [
                np.full(len(config.symbols), np.nan) if r[blob] is None else np.frombuffer(r[blob], dtype="<f8") for r in rows
            ]
            left = pd.DataFrame([[r[k] for k in plain] for r in rows], columns=plain)
            right = pd.DataFrame(np.array(wide).reshape(len(rows), len(config.symbols)), columns=list(config.symbols))
            found[name] = pd.concat([left, right], axis=1)
    return found


def export(account: PaperAccount, folder: Path, kind: str = "csv") -> list[Path]:
    """Write all tables into a folder; files that are there already are replaced, each in one step."""
    if kind not in FORMATS:
        raise ParameterError(f"format {kind!r} is unknown; choose one of {', '.join(FORMATS)}")
    tables = tables_of(account)
    written = []
    with named_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            written.append(folder / f"{name}.{kind}")
            with staged_file(written[-1]) as file:
                table.to_csv(file, index=False) if kind == "csv" else table.to_parquet(file, index=False)
    return written
