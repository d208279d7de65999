"""One algorithm is one file: what CONTRIBUTING.md shows in fifteen lines runs everywhere, and keeps every promise."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from datafeeds import load_sample
from tests.cli.commands import tracker
from tests.vector_ops.registry import PROJECT_ROOT
from tracker_strategies.algorithms.registration import registration_of
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.research.numpy_replay import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies.registry import default_params, load_strategy
from tracker_strategies.testing import check_learner, check_strategy

TEXT = (PROJECT_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How to add an algorithm")[2]
FILE = re.findall(r"```python\n(.*?)```", TEXT, re.S)[0]


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "nlms.py").write_text(FILE)
    load_sample().rows(-40, None).to_frame().to_csv(tmp_path / "prices.csv")
    return f"{tmp_path / 'nlms.py'}:NormalisedLMS"


def test_it_has_fifteen_lines() -> None:
    assert len([line for line in FILE.splitlines() if line]) <= 15


def test_the_extending_page_shows_the_same(own: str) -> None:
    page = (PROJECT_ROOT / "docs" / "work" / "extending.md").read_text(encoding="utf-8")
    for line in FILE.splitlines():
        assert line in page


def test_it_keeps_every_promise(own: str) -> None:
    cls = load_strategy(own)
    learner = cls.learner
    assert learner is not None
    record = registration_of(learner)
    assert record is not None
    for options in record.examples(6):
        check_learner(lambda n, options=options: learner(n, **options), rounds=2000)  # type: ignore[misc]
    check_strategy(cls)


def test_params_help_and_name_come_from_the_learner(own: str) -> None:
    cls, defaults = load_strategy(own), default_params(load_strategy(own))
    assert (cls.alias_name, cls.diagnostic_lines) == ("nlms", ("error",))
    assert {k: defaults[k] for k in ("eta", "delta", "max_weight", "sectors", "max_sector")} == {
        "eta": 0.3,
        "delta": 1e-6,
        "max_weight": None,
        "sectors": None,
        "max_sector": None,
    }
    assert "eta (0.3)" in (cls.__doc__ or "")
    assert (cls.__doc__ or "").startswith("Normalised least mean squares")


def test_backtest_replay_and_limits(own: str) -> None:
    panel = load_sample().rows(-60, None)
    one, other = (run(panel, own, {"fill": "close", "max_weight": 0.06}).decisions for run in (backtest, replay))
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    assert one.max() <= 0.06 + 1e-9


def test_every_command_takes_it_as_the_page_says(own: str, tmp_path: Path) -> None:
    (block,) = re.findall(r"```bash\n(.*?)```", TEXT.partition("\n## ")[0], re.S)
    for line in block.splitlines():
        done = tracker(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        assert "leaderboard" not in line or "nlms" in done.stdout
    done = tracker("compare", "pa", own, "--data", tmp_path / "prices.csv", "--json")
    assert list(json.loads(done.stdout)) == ["pa", "nlms"]


def test_the_checks_of_the_page_run(own: str, tmp_path: Path) -> None:
    lines = re.findall(r"```python\n(.*?)```", TEXT, re.S)[1]
    quick = lines.replace("check_learner(NormalisedLMS)", "check_learner(NormalisedLMS, rounds=2000)")
    path = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    done = subprocess.run([sys.executable, "-c", quick], cwd=tmp_path, capture_output=True, text=True, env=path)
    assert done.returncode == 0, done.stderr


def test_a_paper_account_goes_on_with_it(own: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    frame = load_sample().rows(-12, None).to_frame()
    frame.iloc[:8].to_csv(prices)
    done = tracker("paper", "init", tmp_path / "account", own, "--data", prices, "--param", "eta=0.5")
    assert done.returncode == 0, done.stderr
    decided = []
    for rows in range(8, len(frame) + 1):
        frame.iloc[:rows].to_csv(prices)
        decided.append(PaperAccount(tmp_path / "account").step().decision)
    assert decided == ["act"] * 5


def test_two_files_may_hold_classes_of_one_name(own: str, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(FILE.replace("eta=0.3", "eta=0.7"))
    other = load_strategy(f"{tmp_path / 'other.py'}:NormalisedLMS")
    one = load_strategy(own)
    assert [default_params(cls)["eta"] for cls in (one, other)] == [0.3, 0.7]
    assert one.learner is not None
    assert other.learner is not None
    states = [cls.learner(3).state_dict()["algorithm"] for cls in (one, other)]  # type: ignore[misc]
    assert states[0] != states[1]
    assert load_strategy(own).learner(3).state_dict()["algorithm"] == states[0]  # type: ignore[misc]


def test_what_a_strategy_cannot_take_is_named(tmp_path: Path) -> None:
    for words, say in (
        ("*, eta=0.3, lot=1.0", "lot of NormalisedLMS is already a param of every strategy"),
        ("*, eta", "eta of NormalisedLMS"),
    ):
        (tmp_path / "bad.py").write_text(FILE.replace("*, eta=0.3", words))
        with pytest.raises(ParameterError, match=say):
            load_strategy(f"{tmp_path / 'bad.py'}:NormalisedLMS")
    (tmp_path / "bad.py").write_text(textwrap.dedent("class Nothing: pass"))
    with pytest.raises(ParameterError, match="neither a strategy nor a learner"):
        load_strategy(f"{tmp_path / 'bad.py'}:Nothing")
