"""The bundled sample is what its provenance says, and loads without its source package."""

import gzip
import hashlib
import re
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from datafeeds import UniverseError
from datafeeds.sources import load_sample

FOLDER = resources.files("datafeeds") / "sample"
PROVENANCE = (FOLDER / "PROVENANCE.md").read_text(encoding="utf-8")
ROOT = Path(__file__).resolve().parents[3]


def recorded(what: str) -> str:
    return re.search(rf"SHA-256 of {re.escape(what)} \| `([0-9a-f]{{64}})`", PROVENANCE)[1]


def test_holds_twelve_years_of_twenty_stocks_and_the_index():
    panel = load_sample()
    assert (panel.n_assets, panel.targets, panel.source) == (20, ("INDEX",), "sample")
    assert panel.n_bars == 3018
    assert (panel.day(0), panel.day(-1)) == ("2011-01-03", "2022-12-28")
    assert panel.complete
    assert (panel.close > 0).all()
    assert (panel.target_close > 0).all()
    assert {"AAPL", "JPM", "XOM"} <= set(panel.symbols)
    assert panel.periods_per_year == 252


def test_known_closes_of_the_source_are_kept_to_the_last_digit():
    panel = load_sample()
    assert panel.column("INDEX")[-1] == 3783.22
    assert panel.column("AAPL")[[0, -1]].tolist() == [10.004, 125.674]
    assert panel.column("XOM")[-1] == 106.627


def test_bytes_are_those_of_the_provenance_and_small():
    packed = (FOLDER / "sp500_20.csv.gz").read_bytes()
    assert len(packed) < 1_000_000
    assert hashlib.sha256(packed).hexdigest() == recorded("`sp500_20.csv.gz`")
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == recorded("the CSV inside")


def test_provenance_and_licence_say_what_a_user_must_know():
    for word in ("skfolio 1.12.2", "BSD 3-Clause", "Survivorship", "hindsight", "biased upwards", "price index", "adjusted"):
        assert word in PROVENANCE
    licence = (FOLDER / "LICENSE.skfolio.txt").read_text(encoding="utf-8")
    assert licence.startswith("BSD 3-Clause License")
    assert "The skfolio developers" in licence


def test_prices_move_like_stocks():
    panel = load_sample()
    x, y = np.diff(np.log(panel.close), axis=0), np.diff(np.log(panel.column("INDEX")))
    assert np.abs(x).max() < 0.6
    assert np.corrcoef(x.mean(axis=1), y)[0, 1] > 0.9


def test_another_column_can_be_the_target():
    panel = load_sample("AAPL")
    assert panel.targets == ("AAPL",)
    assert "INDEX" in panel.symbols
    with pytest.raises(UniverseError, match="'SPX'"):
        load_sample("SPX")


def test_needs_neither_its_source_package_nor_backtrader():
    blocked = "import sys; sys.modules['skfolio'] = sys.modules['backtrader'] = None; "
    code = blocked + "from datafeeds import load_sample; print(load_sample().n_bars)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "3018"


def test_maintainer_script_refuses_other_data(tmp_path):
    script = ROOT / "docs" / "maintenance" / "make_sample.py"
    if not script.exists():
        pytest.skip("the maintainer script is only in the source repository")
    wheel = tmp_path / "skfolio-1.12.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("skfolio/datasets/data/sp500_dataset.csv.gz", "skfolio/datasets/data/sp500_index.csv.gz"):
            archive.writestr(name, gzip.compress(b"Date,A\n2020-01-01,1\n"))
        archive.writestr("skfolio-1.12.2.dist-info/licenses/LICENSE", "x")
    done = subprocess.run([sys.executable, script, wheel, "--out", tmp_path / "out"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "expected" in done.stderr
    assert not (tmp_path / "out").exists()
