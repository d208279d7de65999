"""numba computes what numpy computes, when it is asked to and not before."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.markets import random_panel
from tracker_strategies.algorithms import APAS, PA, NegativeLogReturn, Round, Simplex, kernels, project_simplex, thresholds
from tracker_strategies.errors import InputError, MissingExtraError, ParameterError
from tracker_strategies.research.replay import replay
from tracker_strategies.research.sweeps.cells import code_version
from tracker_strategies.runner import backtest

ROOT = Path(__file__).resolve().parents[2]
EQUAL = 1e-12

needs_numba = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="numba is not installed: pip install 'backtrader-index-tracker[numba]'"
)


@pytest.fixture(autouse=True)
def numpy_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Choices end with the test, in the environment too."""
    before = kernels.in_use()
    monkeypatch.setenv(kernels.ENVIRONMENT, before)
    kernels.use("numpy")
    yield
    kernels.use(before)


def by_both(compute):
    """What numpy and numba make of the same call."""
    found = []
    for name in ("numpy", "numba"):
        kernels.use(name)
        found.append(compute())
    return found


entries = st.one_of(
    st.floats(-3, 3), st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 1.0]), st.floats(-1e6, 1e6), st.floats(0, 1e-8)
)
vectors = st.lists(entries, min_size=1, max_size=70).map(np.array)  # beyond the width of any vector unit
scales = st.sampled_from([1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e12, 1e150, 1e300])
totals = st.sampled_from([1e-300, 1e-6, 0.3, 1.0, 7.0, 1e300])
common = settings(max_examples=300, deadline=None)


@needs_numba
@common
@given(vectors, scales, totals)
def test_projection(y, scale, total):
    a, b = by_both(lambda: project_simplex(y * scale, total))
    np.testing.assert_allclose(b, a, rtol=0, atol=EQUAL * total)
    assert abs(b.sum() - total) <= EQUAL * total
    assert (b >= 0.0).all()


@needs_numba
@common
@given(vectors, st.integers(0, 2**32 - 1), st.floats(-1e7, 1e7), totals.filter(lambda t: 1e-6 <= t <= 10.0))
def test_passive_aggressive_step(x, seed, size, total):
    w = project_simplex(np.random.default_rng(seed).normal(0.0, 0.1, x.size), total)
    a, b = by_both(lambda: Simplex(total).step(w, size, x))
    np.testing.assert_allclose(b, a, rtol=0, atol=EQUAL * total)


returns = st.one_of(
    st.floats(-0.2, 0.2),
    st.sampled_from([-1.0, -0.99, -0.01, 0.0, 0.01, 1.0, 30.0]),
    st.floats(-1e-9, 1e-9),
    st.floats(-0.9, 1e3),
)


@needs_numba
@settings(common, max_examples=600)
@given(
    st.lists(st.tuples(returns, st.floats(-3, 3) | st.sampled_from([0.0, 0.02, 0.5])), min_size=1, max_size=70),
    st.sampled_from([1e-12, 1e-3, 0.2, 1.0, 50.0, 1e6]),
    st.sampled_from([1e-6, 0.3, 1.0]),
    st.booleans(),
)
def test_step_of_the_log_return(pairs, lam, total, sparse):
    x, v = np.array(pairs).T.copy()
    if x.max() <= -1.0:
        x[0] = 0.0  # a market that loses everything has no log return
    w = np.zeros(x.size) if sparse else np.full(x.size, total / x.size)
    w[0] = total if sparse else w[0]

    def step():
        try:
            return NegativeLogReturn().prox(v, lam, Simplex(total), Round(x, w))
        except InputError as refusal:  # a portfolio that is all but worthless
            return str(refusal)

    a, b = by_both(step)
    if isinstance(a, str):
        assert a == b
    else:
        np.testing.assert_allclose(b, a, rtol=0, atol=EQUAL)


@needs_numba
def test_vectors_that_numba_has_no_code_for_are_copied():
    table = np.random.default_rng(3).normal(0.0, 0.5, (40, 3))
    column, other = table[:, 1], table[:, 2]
    assert not column.flags.c_contiguous
    for compute in (
        lambda: project_simplex(column),
        lambda: Simplex().step(column, 0.1, other),
        lambda: NegativeLogReturn().prox(column, 0.1, Simplex(), Round(0.01 * other, column)),
    ):
        a, b = by_both(compute)
        np.testing.assert_allclose(b, a, rtol=0, atol=EQUAL)


@needs_numba
@pytest.mark.parametrize("y", [[np.nan, 0.5, 0.2], [np.inf, 0.5, 0.2], [-np.inf, 0.5, 0.2]])
def test_what_is_not_finite_is_left_to_numpy(y):
    kernels.use("numba")
    assert kernels.compiled.simplex_newton(np.array(y), 1.0) is None
    with pytest.raises(ValueError, match="must be finite"):
        thresholds.simplex(np.array(y), 1.0)


@needs_numba
def test_inputs_are_not_changed_and_results_are_new():
    kernels.use("numba")
    rng = np.random.default_rng(5)
    w, x = project_simplex(rng.normal(size=50)), rng.normal(0.0, 0.02, 50)
    before = w.copy(), x.copy()
    first = Simplex().step(w, 0.3, x)
    kept = first.copy()
    NegativeLogReturn().prox(w, 0.1, Simplex(), Round(x, w))
    Simplex().step(w, -5.0, x)
    assert (w == before[0]).all()
    assert (x == before[1]).all()
    assert (first == kept).all()


@needs_numba
@pytest.mark.parametrize("cls", [PA, APAS])
def test_a_state_continues_bit_by_bit(cls):
    kernels.use("numba")
    rng = np.random.default_rng(6)
    X, Y = rng.normal(0.0, 0.02, (40, 30)), rng.normal(0.0, 0.02, 40)
    learner = cls(30)
    learner.run(X[:20], Y[:20])
    again = cls.from_state(learner.state_dict())
    np.testing.assert_array_equal(learner.run(X[20:], Y[20:]), again.run(X[20:], Y[20:]))


@needs_numba
@pytest.mark.parametrize("engine", [backtest, replay])
@pytest.mark.parametrize("params", [("pa", {}), ("apas", {}), ("apas", {"lam": 0.2})], ids=["PA", "APAS", "APAS tilted"])
def test_a_whole_backtest_gives_the_same_weights(params, engine):
    strategy, options = params
    panel = random_panel(n_bars=120, n_assets=40, seed=8, gaps=True)
    a, b = by_both(lambda: engine(panel, strategy, {**options, "listing_warmup": 2, "delist_after": 3}))
    assert np.abs(a.decisions[-1] - a.decisions[0]).max() > 1e-3, "the weights have moved"
    np.testing.assert_allclose(b.decisions, a.decisions, rtol=0, atol=EQUAL)
    np.testing.assert_allclose(b.weights, a.weights, rtol=0, atol=EQUAL)
    np.testing.assert_allclose(b.value, a.value, rtol=1e-9)


# ------------------------------------------------------------------ who is asked


def run(code, cwd=ROOT, **environment):
    everything = os.environ | {"PYTHONPATH": str(cwd)} | environment
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env=everything)


SHOW = "from tracker_strategies.algorithms import kernels; import sys; print(kernels.in_use(), 'numba' in sys.modules)"


def test_numba_is_not_imported_unless_asked_for():
    assert run(SHOW, TRACKER_KERNELS="").stdout.split() == ["numpy", "False"]


@needs_numba
def test_the_environment_chooses_for_commands_and_a_choice_reaches_the_processes_that_follow():
    assert run(SHOW, TRACKER_KERNELS="numba").stdout.split() == ["numba", "True"]
    kernels.use("numba")
    assert run(SHOW).stdout.split() == ["numba", "True"]


@needs_numba
def test_rows_of_a_sweep_are_kept_apart():
    """Equal keys promise equal rows, to the last bit."""
    a, b = by_both(code_version)
    assert b == f"{a}.numba"


def test_unknown_kernels_are_refused():
    with pytest.raises(ParameterError, match="numpy or numba, got 'fortran'"):
        kernels.use("fortran")
    assert kernels.in_use() == "numpy"
    assert "got 'fortran'" in run(SHOW, TRACKER_KERNELS="fortran").stderr


def test_without_numba_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "tracker_strategies.algorithms.numba_kernels", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)  # what the import machinery sees of a package that is not there
    with pytest.raises(MissingExtraError, match=r"backtrader-index-tracker\[numba\]"):
        kernels.use("numba")
    assert kernels.in_use() == "numpy"


#: A compiled function tells where its machine code is kept and how often it was found there.
CACHE = """
from tracker_strategies.algorithms import kernels
kernels.use("numba")
s = kernels.compiled._simplex_newton.stats
print(s.cache_path, sum(s.cache_hits.values()), kernels.compiled.__file__)
"""


@needs_numba
def test_machine_code_is_kept(tmp_path):
    for found in ("0", "1"):
        folder, hits, _ = run(CACHE, NUMBA_CACHE_DIR=str(tmp_path)).stdout.split()
        assert Path(folder).is_relative_to(tmp_path)
        assert hits == found


@needs_numba
def test_where_no_folder_can_be_written_to_each_process_compiles(tmp_path):
    """Files stand where folders would have to be made: not even an administrator can write there."""
    for package in ("datafeeds", "tracker_strategies"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "sample"))
    (tmp_path / "tracker_strategies/algorithms/__pycache__").touch()
    (tmp_path / "file").touch()
    nowhere = {name: str(tmp_path / "file") for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")}
    done = run(CACHE, cwd=tmp_path, **nowhere)
    assert done.stdout.split() == ["None", "0", str(tmp_path / "tracker_strategies/algorithms/numba_kernels.py")], done.stderr
