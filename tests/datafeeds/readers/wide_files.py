"""Wide files for the tests of the readers: a good one, a frame like it, and real ones where they are there."""

from pathlib import Path

import pandas as pd
import pytest

REAL = Path(__file__).resolve().parents[4] / "shared" / "data"
GOOD = "date,INDEX,A,B\n2020-01-01,100,10,20\n2020-01-02,101,11,21\n2020-01-03,102,12,22\n"


def frame(**columns):
    index = pd.DatetimeIndex(["2020-01-01", "2020-01-02", "2020-01-03"], name="date")
    return pd.DataFrame({"INDEX": [100.0, 101, 102], "A": [10.0, 11, 12], **columns}, index=index)


def real(name):
    if not (REAL / name).exists():
        pytest.skip(f"no ../shared/data/{name} beside the project: real market files are not part of it")
    return REAL / name
