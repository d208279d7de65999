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
def test_a_notebook_shows_a_picture_and_no_values_that_only_end_a_cell(source):
    code = [cell for cell in cells_of_notebook(source) if cell["cell_type"] == "code"]
    results = [output for cell in code for output in cell["outputs"] if output["output_type"] == "execute_result"]
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"])
    assert all(not re.match(r"[({\d]", "".join(result["data"]["text/plain"])) for result in results)


def rows(name, pattern):
    """Label and figures of the lines that a notebook prints."""
    text = shown(cells_of_notebook(ROOT / "notebooks" / name))
    return {label.strip(): tuple(map(float, figures)) for label, *figures in re.findall(pattern, text, re.M)}


FIVE = rows("five_algorithms.py", r"^(.*?) +TE +([\d.]+) bp, turnover +([\d.]+) % per bar")


def test_the_ensemble_tracks_closest_and_trades_least_of_the_five_algorithms():
    assert min(FIVE, key=lambda name: FIVE[name][0]) == min(FIVE, key=lambda name: FIVE[name][1]) == "ensemble"


def test_all_but_apas_track_closer_and_trade_less_with_share_counts():
    for name in ("pa", "apas", "adagrad", "discounted-vaw", "sparse-pls"):
        (error, turnover), (error_of_shares, turnover_of_shares) = FIVE[name], FIVE[f"{name}, coordinates=shares"]
        assert (error_of_shares < error, turnover_of_shares < turnover) == ((False, False) if name == "apas" else (True, True))


def test_larger_eps_trades_less_and_one_discount_tracks_closer_than_the_vote():
    errors, turnovers = zip(*(FIVE[f"pa, eps={eps}"] for eps in ("0.0", "0.0003", "0.003")), strict=True)
    assert sorted(errors) == list(errors)
    assert sorted(turnovers, reverse=True) == list(turnovers)
    assert FIVE["discounted-vaw, gamma=0.99"][0] < FIVE["adaptive-discount"][0]


def test_every_algorithm_of_the_notebook_on_holdings_gains_by_share_counts():
    pair = r"([\d.]+) bp, +([\d.]+) %"
    table = rows("holdings.py", rf"^([a-z-]+) +{pair} +{pair}$")
    assert len(table) == 6
    for error, turnover, error_of_shares, turnover_of_shares in table.values():
        assert error_of_shares < error
        assert turnover_of_shares < turnover


def test_what_the_notebook_on_costs_says_of_turnover_and_of_rejected_orders():
    table = rows("costs_and_fills.py", r"^(.*?) +TE +([\d.]+) bp, turnover +([\d.]+) %, cost +([\d.]+) bp")
    plain, cost = table["weights, every bar"][1:]
    ways = ("coordinates=shares", "coordinates=shares, cost_aware=20", "rebalance=weekly", "band=0.002", "max_turnover=0.01")
    assert all(table[way][1] < 0.7 * plain for way in ways)
    assert table["ensemble"][2] < 0.05 * cost
    orders = rows("costs_and_fills.py", r"^(.*?) +(\d+) orders, +(\d+) rejected")
    assert orders["rebalancer"][1] == 0 < orders["loop of order_target_percent"][1]


def test_survivorship_lets_equal_weights_beat_the_index_too():
    excess = rows("quickstart.py", r"^(.*?): .*excess log return ([+-][\d.]+)")
    assert excess["equal weight"][0] > excess["ensemble"][0] > 0.0


def test_the_account_without_faults_is_its_backtest_and_the_one_with_faults_is_not():
    text = shown(cells_of_notebook(ROOT / "notebooks" / "paper_trading.py"))
    paper, backtest = re.search(r"paper ([\d,.]+), backtest ([\d,.]+)", text).groups()
    assert paper == backtest
    assert float(re.search(r"against the backtest ([+-][\d.]+) bp", text)[1]) != 0.0


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
