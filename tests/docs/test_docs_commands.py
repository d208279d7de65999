"""Every command and every piece of Python on the pages works as written.

The blocks of a page run one after the other, as a reader would paste them, in a folder with a small market in `prices.csv`. A
`text` block after them is what they print. What cannot run here is parsed, so that what it asks for exists.
"""

import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "api" not in p.parts)]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")

#: Sectors of the stocks in `prices.csv`.
SECTORS = {
    **dict.fromkeys(("AAPL", "AMD"), "Technology"),
    **dict.fromkeys(("BAC", "JPM"), "Financials"),
    **dict.fromkeys(("BBY", "HD", "KO"), "Consumer"),
    **dict.fromkeys(("JNJ", "LLY", "MRK"), "Health Care"),
    "CVX": "Energy",
    "GE": "Industrials",
}
#: Commands that are parsed and not run, and why.
NOT_RUN = {
    r"tracker fetch\b": "asks Yahoo: needs the internet",
    r"tracker .*--broker alpaca|tracker paper watch alpaca": "needs the keys of an account",
    r"tracker sweep .*--scheduler": "needs a cluster",
    r"tracker reproduce (?:apas|ispls|vaw)": "takes minutes; tests/research run the same with less",
    r"tracker .*nasdaq100|tracker .*_1990_2020|tracker .*_2015_2020|tracker .*us40": "needs prices that are not bundled",
}
#: Blocks that other tests run as written: page, kind of block, which ones.
ELSEWHERE = {
    ("README.md", "python"): "tests/docs/test_readme.py",
    ("CONTRIBUTING.md", "python"): "tests/strategies/test_one_file.py",
    ("CONTRIBUTING.md", "nlms.py:"): "tests/strategies/test_one_file.py",
    ("sweeps.md", "python"): "tests/research/sweeps/test_cli.py",
    ("paper-trading.md", "python"): "tests/docs/test_paper_trading.py",
    ("paper-trading.md", "watch demo"): "tests/docs/test_paper_trading.py",
    ("exits.md", "bash"): "tests/docs/test_exits.py",
}


def blocks(page):
    """Kind and content of the fenced blocks of a page; commands without a name for their kind are commands, too."""
    for kind, text in FENCE.findall(page.read_text(encoding="utf-8")):
        yield ("bash" if not kind and text.startswith("tracker ") else kind), text


def commands(text):
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def elsewhere(page, kind, text):
    return any(name == page.name and (mark == kind or mark in text) for name, mark in ELSEWHERE)


def steps_of(page):
    """What is to be run, in order: the words of a command, or Python; what it should print; and files to be written."""
    steps = []
    for kind, text in blocks(page):
        if kind == "text":
            steps[-1]["prints"] = text
        elif kind == "toml" and (name := re.match(r"# ([\w-]+\.toml)\n", text)):
            steps.append({"file": name[1], "text": text})
        elif kind in ("bash", "python") and not elsewhere(page, kind, text):
            if kind == "python":
                steps.append({"python": text})
            for line in commands(text) if kind == "bash" else ():
                if line.startswith("tracker ") and not any(re.match(pattern, line) for pattern in NOT_RUN):
                    steps.append({"words": shlex.split(line, comments=True)})
    return steps


def run(steps):
    """In the process that reads the pages: carry out the steps of each, in its own folder, and return what they print."""
    from tracker_strategies.cli import main

    printed = []
    names = {"__name__": "__main__"}
    before = "whole"
    for step in steps:
        if (now := columns_for(step)) != before:
            for name in ("prices.csv", "prices.parquet"):
                shutil.copy(Path(now) / name, name)
            before = now
        said = io.StringIO()
        with redirect_stdout(said):
            if "file" in step:
                Path(step["file"]).write_text(step["text"], encoding="utf-8")
            elif "python" in step:
                exec(compile(step["python"], "a block of the page", "exec"), names)
            else:
                sys.argv = step["words"]
                try:
                    main()
                except SystemExit as end:
                    if end.code:
                        raise SystemExit(f"{shlex.join(step['words'])} ended with {end.code}") from end
        printed.append(said.getvalue())
    return printed


def columns_for(step):
    """The file of somebody who names another index has no column INDEX, which would be bought like a stock and is refused."""
    text = shlex.join(step.get("words", ())) + step.get("python", "")
    return "named" if re.search(r'--index (?!INDEX)|prices\.\w+", "SPX"', text) else "whole"


@pytest.fixture(scope="session")
def market(tmp_path_factory):
    """Twelve stocks and four indices of them, each holding share counts of its own; who belonged to them; their sectors."""
    import numpy as np
    import pandas as pd

    from datafeeds import load_sample

    folder = tmp_path_factory.mktemp("market")
    stocks = load_sample().rows(0, 200).to_frame().iloc[:, 1:13]
    shares = np.random.default_rng(0).uniform(0.5, 2.0, (12, 4)) / stocks.iloc[0].to_numpy()[:, None]
    indices = pd.DataFrame(stocks.to_numpy() @ shares * 100.0, stocks.index, ["INDEX", "SPX", "NKY", "DAX"])
    frame = indices.join(stocks).rename_axis("date")
    for place, table in (("", frame), ("whole", frame), ("named", frame.drop(columns="INDEX"))):
        (folder / place).mkdir(exist_ok=True)
        table.to_csv(folder / place / "prices.csv")
        table.to_parquet(folder / place / "prices.parquet")
    members = [f"{name},2000-01-01,{'2011-06-30' if i == 0 else ''}" for i, name in enumerate(stocks)]
    (folder / "members.csv").write_text("\n".join(["symbol,from,to", *members]) + "\n")
    sectors = [f"{name},{SECTORS.get(name, 'Index')}" for name in frame]  # indices that are not tracked are bought like stocks
    (folder / "sectors.csv").write_text("\n".join(["symbol,sector", *sectors]) + "\n")
    (folder / "weights.csv").write_text("\n".join(["symbol,weight", *(f"{name},{i}" for i, name in enumerate(stocks, 1))]) + "\n")
    return folder


def test_what_the_pages_say_can_be_done_as_they_say(market, tmp_path):
    """One process for all pages: starting one takes longer than most of them."""
    steps = {page.stem: todo for page in PAGES if (todo := steps_of(page))}
    assert {"README", "getting-started", "analysis", "sweeps"} <= set(steps)
    for stem in steps:
        shutil.copytree(market, tmp_path / stem)
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    environment = {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg", "COLUMNS": "110", "LOKY_MAX_CPU_COUNT": "1"}  # sweeps in it, too
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.test_docs_commands", "steps.json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **environment},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    printed = json.loads((tmp_path / "printed.json").read_text())
    for stem, todo in steps.items():
        for step, said in zip(todo, printed[stem], strict=True):
            if "prints" in step:
                compare(step["prints"], said)


def words_of(line):
    return NUMBER.sub("#", line).split()


def compare(expected, printed):
    """The lines of the page are among those printed, in order: the same words, and numbers that differ by rounding at most."""
    rest = iter(printed.splitlines())
    for line in expected.splitlines():
        found = next((other for other in rest if words_of(other) == words_of(line)), None)
        assert found is not None, f"{line!r} is not among\n{printed}"
        for then, now in zip(NUMBER.findall(line), NUMBER.findall(found), strict=True):
            then, now = (float(number.replace(",", "")) for number in (then, now))
            assert math.isclose(then, now, rel_tol=0.01, abs_tol=0.02), (line, printed)


# ------------------------------------------------------------------ what is parsed only


def parsed(words):
    """Go through the options of a `tracker` command without running it; click complains about what does not exist."""
    import typer

    from tracker_strategies.cli import app

    command, rest, context = typer.main.get_command(app), words[1:], None
    name = "tracker"
    while hasattr(command, "resolve_command"):
        group = command.make_context(name, rest, parent=context)
        name, command, rest = command.resolve_command(group, [*group._protected_args, *group.args])
        context = group
    command.make_context(name, list(rest), parent=context)


def not_run(page):
    for kind, text in blocks(page):
        for line in commands(text) if kind == "bash" else ():
            if not line.startswith("tracker ") or any(re.match(pattern, line) for pattern in NOT_RUN):
                yield line


@pytest.mark.parametrize("page", [page for page in PAGES if list(not_run(page))], ids=lambda path: path.stem)
def test_what_cannot_run_here_asks_for_what_exists(page):
    setup = ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg")
    makefile = (ROOT / "Makefile").read_text()
    for line in not_run(page):
        words = shlex.split(line, comments=True)
        extras = re.findall(r"\[(\w+)\]", line)
        match words:
            case ["tracker", *_]:
                parsed(words)
            case ["pip", "install", *_]:
                assert extras
                assert set(extras) <= set(setup["options.extras_require"]), line
            case ["make", *targets]:
                assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets), line
            case ["python", "-m", "benchmarks", *names]:
                assert all(name == "--help" or any((ROOT / "benchmarks").rglob(f"{name}.py")) for name in names), line
            case [*_, "python", "-m", "pytest", "-q", path] | ["python", "-m", "pytest", "-q", path, "-k", _]:
                assert (ROOT / path).exists(), line
            case ["ruff", "check", ".", *_] | ["dask", "scheduler" | "worker", *_] | ["export", *_]:
                pass
            case _:
                raise AssertionError(f"nobody checks {line!r}: run it, or say why not")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_commands_inside_sentences_exist(page):
    """`tracker run NAME --data FILE`: the command is there, and so are its options."""
    import typer

    from tracker_strategies.cli import app

    for code in re.findall(r"`(tracker [^`\n]+)`", FENCE.sub("", page.read_text(encoding="utf-8"))):
        command, words = typer.main.get_command(app), code.split()[1:]
        while hasattr(command, "commands") and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        if hasattr(command, "commands") and "run" in command.commands:  # `tracker sweep pa` is short for `tracker sweep run pa`
            command = command.commands["run"]
        options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert not hasattr(command, "commands") or not words or words[0].startswith("-"), code
        assert {word for word in words if word.startswith("--")} <= options, code


if __name__ == "__main__":
    home, printed_by_page = Path.cwd(), {}
    for stem, steps in json.loads(Path(sys.argv[1]).read_text()).items():
        print(f"the page {stem}", file=sys.stderr)
        os.chdir(home / stem)
        printed_by_page[stem] = run(steps)
    (home / "printed.json").write_text(json.dumps(printed_by_page))
