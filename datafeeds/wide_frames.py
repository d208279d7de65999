"""From a wide frame of prices to the arrays of a panel: which columns are targets, what a hole means, where it all ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from datafeeds.checks import (
    check_common_dates,
    check_dates,
    check_frame,
    check_one_length,
    common_span,
    fill_target_gaps,
    find_holes,
    say_what_is_left_off,
)
from datafeeds.choices import GAP_POLICIES, check_choice

NO_COMMON_PRICE = "no price in the period that all targets cover"


def parts_of_frame(
    prices: pd.DataFrame, targets: tuple[str, ...], bars: Mapping[str, pd.DataFrame], gaps: str, source: str
) -> dict[str, Any]:
    """What :class:`~datafeeds.panel.MarketPanel` is made of, and ``lost``: assets without a price in the panel, and why.

    See :meth:`MarketPanel.from_frame <datafeeds.panel.MarketPanel.from_frame>`.
    """
    check_choice("gaps", gaps, GAP_POLICIES)
    check_frame(prices, targets)
    columns = list(prices.columns)
    which = [columns.index(name) for name in targets]
    keep: slice | list[int] = [i for i in range(len(columns)) if i not in which]
    if keep == list(range(len(which), len(columns))):
        keep = slice(len(which), None)  # targets first, as usual: a view, where a list of columns would be a copy
    names = np.array(columns, dtype=object)[keep]
    dates = prices.index.to_numpy(dtype="datetime64[ns]")
    table = prices.to_numpy(dtype=np.float64)
    parts: dict[str, Any] = {"close": table[:, keep], "target_close": table[:, which], "target_seen": None}
    parts |= {line: frame[prices.columns[keep]].to_numpy(dtype=np.float64) for line, frame in bars.items()}
    check_dates(dates)
    check_one_length(parts["target_close"], parts["close"], (targets, [str(name) for name in names]), dates, source)
    found: dict[str, Any] = {"targets": targets, "cut": (), "lost": {}}
    if gaps == "error":
        find_holes(parts["close"], dates, [str(name) for name in names])
    else:
        parts["target_seen"] = seen = ~np.isnan(parts["target_close"])
        check_common_dates(seen, targets, dates)
        span, left = common_span(seen, targets, dates, live=gaps == "live")
        if left:
            say_what_is_left_off(left, source)
            ever = np.isfinite(parts["close"]).any(axis=0)  # a column without any price is an error of its own
            parts, dates = {k: v[span] for k, v in parts.items()}, dates[span]
            lost = ever & ~np.isfinite(parts["close"]).any(axis=0)
            parts = {k: v if k.startswith("target") else v[:, ~lost] for k, v in parts.items()}
            found |= {"cut": left, "lost": {str(name): NO_COMMON_PRICE for name in names[lost]}}
            names = names[~lost]
        parts["target_close"] = fill_target_gaps(parts["target_close"])
    return {"dates": dates, "symbols": tuple(str(name) for name in names), **parts, **found}
