"""What the page on paper trading says can be done as it says."""

import re
import shlex
from dataclasses import asdict
from pathlib import Path

from tests.cli.commands import tracker
from tests.docs.scripts import printed
from tracker_strategies.papertrade import RiskLimits

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "work" / "paper-trading.md").read_text(encoding="utf-8")


def test_the_first_five_minutes_work_as_written(tmp_path):
    section = PAGE.split("## The first five minutes")[1].split("\n## ")[0]
    (block,) = re.findall(r"```bash\n(.*?)```", section, re.S)
    commands = [shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("tracker paper")]
    assert [c[2] for c in commands] == ["init", "watch", "status", "report"]
    done = [tracker(*command[1:], cwd=tmp_path) for command in commands]
    assert [each.returncode for each in done] == [0, 0, 0, 0]
    assert "21 sessions" in done[1].stdout
    assert "session 21" in done[2].stdout
    assert "its backtest" in done[3].stdout
    assert (tmp_path / "demo" / "report" / "tearsheet.html").stat().st_size > 100_000


def test_the_cerebro_of_your_own_runs_as_pasted(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "own.py").write_text(block)
    printed(tmp_path / "own.py", tmp_path)
    assert (tmp_path / "native" / "journal.db").exists()


def test_the_table_of_limits_is_complete_and_right():
    shown = dict(re.findall(r"^\| `(\w+)` \| ([\w.]+) \|", PAGE, re.M))
    assert shown == {name: "none" if value is None else f"{value:g}" for name, value in asdict(RiskLimits()).items()}


def test_every_command_of_the_page_exists():
    from tracker_strategies.cli.accounts.asking import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"tracker paper (\w+)", PAGE)) <= known
    assert all(f"`{name}" in PAGE for name in known)


def test_the_notebook_runs(tmp_path):
    out = printed(ROOT / "notebooks" / "paper_trading.py", tmp_path)
    assert len(re.findall(r"orders sent, decided from a (?:replay|checkpoint)", out)) >= 4
    paper, backtest = re.search(r"paper ([\d,.]+), backtest ([\d,.]+)", out).groups()
    assert paper == backtest
    assert re.search(r"\d+ orders failed; value against the backtest [+-]\d+\.\d\d bp", out)
