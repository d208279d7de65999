"""Text from outside is shown as it is: no tag, no code and no control character in it does anything."""

import ast
import io
from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress
from rich.table import Table

from datafeeds.texts import plain
from tests.cli.commands import refused, tracker
from tracker_strategies import cli
from tracker_strategies.analysis.inference.verdicts import judge
from tracker_strategies.cli.show import judged_table
from tracker_strategies.cli.terminal import Terminal, progress_text, styled

ODD = ["[/bold]", "x[/]", "[red]y", ":car:", "a\\", "a\\\\", "\\[bold]", "[link=http://x]z[/link]"]
FILES = sorted(Path(cli.__file__).parent.glob("*.py"))


def shown(print_it, **options):
    terminal = Terminal(file=io.StringIO(), width=200, **options)
    print_it(terminal)
    return terminal.file.getvalue()


@pytest.mark.parametrize("text", ODD)
def test_it_is_shown_as_it_is_wherever_it_stands(text):
    table = Table(text, title=text, caption=text)
    table.add_row(text)
    assert shown(lambda t: t.print(text)) == f"{text}\n"
    assert shown(lambda t: t.print(styled("wrote ", (text, "bold"), " now"))) == f"wrote {text} now\n"
    assert shown(lambda t: t.print(table)).count(text) == 4
    with Progress(progress_text("{task.description}"), console=Terminal(file=io.StringIO(), width=200)) as progress:
        progress.add_task(text)
    assert text in progress.console.file.getvalue()
    with Terminal(file=io.StringIO(), force_terminal=True, width=200).status(text) as status:
        assert text in status.renderable.text.plain


def test_control_characters_are_shown_and_not_obeyed():
    assert plain("a\x07\n") == "a\\x07\n"
    bad = "a\x1b[2J\u202eb\udcff"
    assert plain(bad) == "a\\x1b[2J\\u202eb\\udcff"
    assert shown(lambda t: t.print(styled((bad, "bold"))), force_terminal=True, color_system=None) == f"{plain(bad)}\n"


def test_everything_that_is_printed_goes_through_the_terminal():
    """A console of another kind would read tags; so would a column of text of a progress bar; and a tag would be printed."""
    wrong = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and path.name != "terminal.py":
                names = {alias.name for alias in node.names}
                if node.module in ("rich.console", "rich.markup", "rich.status") or "TextColumn" in names:
                    wrong.append(f"{path.name}: {node.module} {names}")
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("print", "add_row", "add_column", "status"):
                texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                wrong += [f"{path.name}:{node.lineno}: {text}" for text in texts if "[/" in text or "[bold" in text]
    assert wrong == []


def test_names_folders_and_errors_with_tags_in_them_are_shown(tmp_path):
    folder, prices = tmp_path / "x[/]", tmp_path / "[red].csv"
    names = ["INDEX", "[/bold]", "x[/]", "[red]"]
    rows = "".join(
        f"2020-{1 + d // 28:02d}-{1 + d % 28:02d}," + ",".join(f"{100 + (d * k) % 7}" for k in (1, 2, 3, 4)) + "\n"
        for d in range(56)
    )
    prices.write_text(f"date,{','.join(names)}\n{rows}")
    made = tracker("paper", "init", folder, "pa", "--data", prices, "--replay", "2020-01-20")
    assert made.returncode == 0, made.stderr
    assert f"opened {folder}" in made.stdout.replace("\n", "")
    assert tracker("paper", "watch", folder, "--sessions", "3").returncode == 0
    status = tracker("paper", "status", folder)
    assert status.returncode == 0
    assert all(name in status.stdout for name in names[1:])
    checked = tracker("data", "check", prices)
    assert checked.returncode == 0
    assert "[red].csv" in checked.stdout
    assert "[bold]\\x1b.csv" in refused(tracker("run", "pa", "--data", tmp_path / "[bold]\x1b.csv"))


@pytest.mark.parametrize(("width", "head"), [(80, "adaptive-\ndiscount *"), (120, "adaptive-discount *")])
def test_long_names_of_judged_runs_go_on_after_a_hyphen_where_the_terminal_is_narrow(width, head):
    paths = {"adaptive-discount": np.random.default_rng(1).normal(0.0, 1e-3, 300)}
    paths |= {f"multiplicative-pa-{i}": paths["adaptive-discount"] * (13.0 + i) for i in range(2)}
    table = judged_table(judge(paths), width=width)
    assert next(iter(table.columns[0].cells)) == head
    lines = shown(lambda t: t.print(table, width=width)).splitlines()
    assert max(map(len, lines)) <= width
    first = [line.split()[0] for line in lines if line[:1].strip()]
    assert ("adaptive-" if width == 80 else "adaptive-discount") in first
    assert not {"adaptive-discou", "nt", "unt"} & set(first)
