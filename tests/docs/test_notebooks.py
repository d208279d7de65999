"""Every notebook runs as a script, and the .ipynb beside it shows what that script says."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.scripts import printed

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")
#: What must not be in a notebook: folders of a machine, addresses of objects, times of day.
NOISE = re.compile(r"/(?:tmp|home|root|work|Users|var)/|\bat 0x[0-9a-f]+|\b\d\d:\d\d:\d\d\b")

each_notebook = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def cells_of_script(path):
    """Kind and text of each cell of a percent script; the header before the first one is no cell."""
    _, *parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
    for mark, body in zip(parts[::2], parts[1::2], strict=True):
        if "[markdown]" in mark:
            yield "markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
        else:
            yield "code", body.strip()


def cells_of_notebook(path):
    return json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]


def shown(cells):
    """What the code printed when the notebook was rendered."""
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")


@each_notebook
def test_the_script_runs_and_prints_what_the_notebook_shows(source, tmp_path):
    found, expected = printed(source, tmp_path), shown(cells_of_notebook(source))
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", expected).split()
    for now, then in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        now, then = float(now.replace(",", "")), float(then.replace(",", ""))
        assert math.isclose(now, then, rel_tol=0.01, abs_tol=0.02), f"{now} is printed, {then} is shown: make notebooks"


def test_a_script_prints_the_same_in_a_process_of_its_own(tmp_path):
    source = ROOT / "notebooks" / "quickstart.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, source], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed(source, tmp_path)


@each_notebook
def test_the_notebook_has_the_cells_of_the_script(source):
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in cells_of_notebook(source)]
    assert found == list(cells_of_script(source)), "the script has changed since: make notebooks"


@each_notebook
def test_every_cell_has_run_without_error_and_without_traces_of_a_machine(source):
    cells = cells_of_notebook(source)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert not any(output.get("name") == "stderr" for output in outputs)
    text = json.dumps([{k: v for k, v in output.get("data", {}).items() if k != "image/png"} for output in outputs])
    assert not NOISE.findall(shown(cells) + text)


@each_notebook
def test_a_notebook_is_light(source):
    assert source.with_suffix(".ipynb").stat().st_size < 150_000


def test_there_is_a_notebook_for_every_subject():
    subjects = {
        "quickstart",
        "five_algorithms",
        "holdings",
        "several_indices",
        "costs_and_fills",
        "own_data",
        "tomorrows_orders",
        "paper_trading",
        "extending",
    }
    assert {source.stem for source in SOURCES} == subjects == {p.stem for p in (ROOT / "notebooks").glob("*.ipynb")}
