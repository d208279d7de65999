"""Cells that crash, hang, leave or eat memory are rows of their own; the others never notice."""

import json
import re
from collections import Counter

import pytest

from tests.research.sweeps.test_run import rows_of
from tests.storm.hostile_cells.driver import sweep_of
from tests.storm.hostile_cells.trying import ACTS, Case, make_case, try_case
from tracker_strategies.research.sweeps import Space, Sweep, read_rows, run_sweep
from tracker_strategies.research.sweeps.running import processes
from tracker_strategies.research.sweeps.running.crew import Allowance, machine_memory

QUICK = ("nothing", "segfault", "raise", "leave", "sleep", "memory", "die_once", "nothing")
REST = ("nothing", "abort", "exit", "exit_quietly", "kill", "loop", "hold")


def hostile(folder, acts, jobs):
    """The rows of a sweep of such cells, by what they do; the baseline as ``pa``."""
    named = [f"{act}-{number}" for number, act in enumerate(acts)]
    sweep = sweep_of(named, str(folder))
    summary = run_sweep(sweep, folder / "sweep", jobs=jobs, cell_seconds=6.0, cell_memory=0.75)
    assert (summary.ran, summary.failed) == (len(acts) + 1, sum(bool(ACTS[act]) for act in acts))
    stored = rows_of(folder / "sweep")
    rows = {json.loads(row["params"]).get("act", "pa" if row["strategy"] == "pa" else "nothing-0"): row for row in stored}
    assert set(rows) == {*named, "pa"}
    again = run_sweep(sweep, folder / "sweep", jobs=jobs)
    assert (again.before, again.ran) == (len(acts) + 1, 0)
    return rows


def workers(folder):
    return read_rows(folder, ("worker",))["worker"].to_pylist()


@pytest.mark.parametrize(("acts", "jobs"), [(QUICK, 2), pytest.param(REST, 1, marks=pytest.mark.slow)], ids=["quick", "rest"])
def test_what_a_cell_does_is_told_in_its_row_and_in_no_other(tmp_path, acts, jobs):
    rows = hostile(tmp_path, acts, jobs)
    for act, row in rows.items():
        expected = ACTS.get(act.partition("-")[0], "")
        assert row["status"] == ("error" if expected else "ok"), (act, row["error"])
        assert re.search(expected, row["error"])
        assert expected or row["te_rms"] == rows["pa"]["te_rms"]


def test_a_cell_that_died_in_two_ways_says_both(tmp_path):
    row = hostile(tmp_path, ("nothing", "die_twice"), 1)["die_twice-1"]
    assert re.search(r"died, 2 times: killed.*\(SIGKILL\), then .*\(SIGABRT\)", row["error"])


def test_processes_are_kept_for_the_next_sweep_but_not_with_a_users_code(tmp_path):
    run_sweep(Sweep(Space(("pa",)), data=("synthetic:n_assets=3,n_bars=40",), baselines=()), tmp_path / "ours", jobs=1)
    run_sweep(sweep_of(["nothing-0"], str(tmp_path)), tmp_path / "theirs", jobs=1)
    ours, theirs = ({int(who.split(":")[1]) for who in workers(tmp_path / name)} for name in ("ours", "theirs"))
    assert theirs == ours  # it was at hand
    assert not theirs & {process.pid for process in processes._idle}


def test_a_cell_has_its_share_of_the_memory():
    assert Allowance().share(4) == machine_memory() // 4
    assert Allowance.of(1.0, 0.5).share(4) == 2**29


def test_cases_are_drawn_from_their_numbers_alone():
    cases = [make_case(3, index) for index in range(40)]
    assert cases == [make_case(3, index) for index in range(40)]
    assert Counter(act.partition("-")[0] for case in cases for act in case.acts).keys() == ACTS.keys()


def test_a_small_storm():
    """A driver that is killed outright, over cells that end their processes."""
    acts = ("nothing-0", "exit-1", "nothing-2", "raise-3")
    assert not try_case(Case("small", acts, 2, (("kill driver", 2),))).findings
