"""Reference vectors of the finished families, and the command that runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import run_vectors
from tests.vector_ops.registry import OPS, PROJECT_ROOT, check_case, differences, load_family, vector_directory, vector_files


def known_cases() -> list[Any]:
    """Every vector whose op is implemented, as a parameter; one that skips when there are none."""
    cases = [
        pytest.param(family, case, id=case["id"])
        for path in vector_files()
        for family, cases in [load_family(path)]
        for case in cases
        if (family, case["op"]) in OPS and family != "metrics"
    ]
    reason = "the shared vectors are not here: ../shared/vectors"
    return cases or [pytest.param("", {}, id="none", marks=pytest.mark.skip(reason=reason))]


@pytest.mark.parametrize(("family", "case"), known_cases())
def test_vector(family: str, case: dict[str, Any]) -> None:
    assert check_case(family, case) == []


@pytest.mark.skipif(not vector_directory().is_dir(), reason="the shared vectors are not here: ../shared/vectors")
def test_every_registered_op_has_vectors() -> None:
    present = {(family, case["op"]) for path in vector_files() for family, cases in [load_family(path)] for case in cases}
    assert set(OPS) <= present


# ------------------------------------------------------------------ the command


def write(directory: Path, family: str, *cases: dict[str, Any]) -> None:
    content = {
        "family": family,
        "about": "",
        "cases": [{"id": f"{family}-{i}", "params": {}, **case} for i, case in enumerate(cases)],
    }
    (directory / f"{family}.json").write_text(json.dumps(content))


GOOD = {"op": "simplex", "inputs": {"y": [0.5, 0.5]}, "expected": {"w": [0.5, 0.5]}, "tol": {"atol": 1e-9, "rtol": 0.0}}


def test_all_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "projections", GOOD, GOOD)
    assert run_vectors.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "projections: 2 passed, 0 failed\n"


@pytest.mark.parametrize(
    "bad",
    [
        GOOD | {"op": "no_such_op"},
        GOOD | {"expected": {"w": [0.5 + 2e-9, 0.5]}},
        GOOD | {"expected": {"w": [0.5, 0.5, 0.0]}},
        GOOD | {"expected": {"w": [0.5, 0.5], "not_returned": 1.0}},
        GOOD | {"inputs": {"y": ["x", 0.5]}},
        GOOD | {"inputs": {}},
    ],
)
def test_a_failure_is_counted_and_decides_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: dict[str, Any]
) -> None:
    write(tmp_path, "projections", GOOD, bad)
    assert run_vectors.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == "projections: 1 passed, 1 failed\n"


def test_a_family_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "projections", GOOD)
    write(tmp_path, "unknown", GOOD)
    assert run_vectors.main([str(tmp_path), "--family", "projections"]) == 0
    assert run_vectors.main([str(tmp_path)]) == 1
    assert "unknown: 0 passed, 1 failed\n" in capsys.readouterr().out


def test_nothing_to_run_is_not_a_success(tmp_path: Path) -> None:
    assert run_vectors.main([str(tmp_path)]) == 2
    write(tmp_path, "projections", GOOD)
    assert run_vectors.main([str(tmp_path), "--family", "elsewhere"]) == 2


def test_it_runs_as_a_script_from_anywhere(tmp_path: Path) -> None:
    write(tmp_path, "projections", GOOD)
    command = [sys.executable, str(PROJECT_ROOT / "tests" / "run_vectors.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "projections: 1 passed, 0 failed\n"), done.stderr


def test_comparison_is_elementwise_and_refuses_nan() -> None:
    tolerance = {"atol": 1e-9, "rtol": 1e-3}
    assert differences("w", [1.0009, 0.0], [1.0, 0.0], **tolerance) == []
    assert differences("w", [1.0, 1e-8], [1.0, 0.0], **tolerance)
    assert differences("w", [1.0, float("nan")], [1.0, 0.0], **tolerance)
    assert differences("w", [[1.0], [2.0, 3.1]], [[1.0], [2.0, 3.0]], **tolerance)
    assert differences("violated", False, True, **tolerance)
    assert differences("more", {"a": 1.0}, {"a": 1.0, "b": 2.0}, **tolerance)
