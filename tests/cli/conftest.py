"""One small market, and finished runs on it, for all tests of the command line."""

import pytest

from datafeeds import load_sample
from tests.cli.commands import process, tracker


@pytest.fixture(scope="session")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "market.csv"
    load_sample().rows(-80, None).to_frame().to_csv(path)
    return path


@pytest.fixture(scope="session")
def runs(csv, tmp_path_factory):
    """Finished runs without a page, in folders named after their strategies. Look, do not touch."""
    folder = tmp_path_factory.mktemp("runs") / "all"
    done = tracker("compare", "pa", "equal-weight", "buy-and-hold", "--data", csv, "--out", folder, "--no-tearsheet")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def drawn(csv, tmp_path_factory):
    """A finished run with its tear sheet, from a process of its own. Look, do not touch."""
    folder = tmp_path_factory.mktemp("drawn") / "pa"
    done = process("run", "pa", "--data", csv, "--cost-bps", "5", "--eval-from", "0.3", "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder
