"""What the documentation says can be done as it says."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tracker_strategies.papertrade import RiskLimits

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "paper-trading.md").read_text(encoding="utf-8")


def python(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_five_minutes_work_as_written(folder):
    section = PAGE.split("## The first five minutes")[1].split("\n## ")[0]
    (block,) = re.findall(r"```bash\n(.*?)```", section, re.S)
    commands = [shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("tracker paper")]
    assert [c[2] for c in commands] == ["init", "watch", "status", "report"]
    out = [python("-m", "tracker_strategies", "paper", *command[2:], cwd=folder) for command in commands]
    assert "21 sessions" in out[1]
    assert "session 21" in out[2]
    assert "its backtest" in out[3]
    assert (folder / "demo" / "report" / "tearsheet.html").stat().st_size > 100_000


def test_the_cerebro_of_your_own_runs_as_pasted(folder):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (folder / "own.py").write_text(block)
    python(folder / "own.py", cwd=folder)
    assert (folder / "native" / "journal.db").exists()


def test_the_table_of_limits_is_complete_and_right():
    shown = dict(re.findall(r"^\| `(\w+)` \| ([\w.]+) \|", PAGE, re.M))
    assert shown == {name: "none" if value is None else f"{value:g}" for name, value in asdict(RiskLimits()).items()}


def test_every_command_of_the_page_exists():
    from tracker_strategies.cli.paper import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"tracker paper (\w+)", PAGE)) <= known
    assert all(f"`{name}" in PAGE for name in known)


def test_the_notebook_runs(folder):
    out = python(ROOT / "notebooks" / "paper_trading.py", cwd=folder)
    assert len(re.findall(r"orders sent, decided from a (?:replay|checkpoint)", out)) >= 4
    paper, backtest = re.search(r"paper ([\d,.]+), backtest ([\d,.]+)", out).groups()
    assert paper == backtest
    assert re.search(r"\d+ orders not filled in full; against the backtest [+-]\d+\.\d\d bp", out)
