"""The command `tracker`: inside the process of the tests, where words and answers are all that matters, and as a shell has it."""

import io
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tracker_strategies.cli import main

ROOT = Path(__file__).resolve().parents[2]


def tracker(*words, cwd=ROOT):
    """The entry point with these words: exit code and what was printed, without the price of another Python."""
    argv = ["tracker", *map(str, words)]
    code, out, err = 0, io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(cwd)
        patch.setattr(sys, "argv", argv)
        patch.setenv("COLUMNS", "120")
        patch.setattr(warnings, "formatwarning", warnings.formatwarning)  # the entry point sets its own
        patch.setattr(warnings, "showwarning", lambda *what: sys.stderr.write(warnings.formatwarning(*what[:4])))  # not pytest's
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


def process(*words, cwd=ROOT, **environment):
    """The same in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tracker_strategies", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", **environment},
        timeout=300,
    )


def refused(result, *words):
    """One named line on stderr, exit code 2, nothing on stdout, no traceback."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0]
    return lines[0]
