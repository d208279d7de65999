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

from tests.algorithms.least_squares.test_least_squares import problem
from tests.markets import random_panel
from tracker_strategies._fingerprint import code_version
from tracker_strategies.algorithms import APAS, PA, LeastSquares, NegativeLogReturn, Round, Simplex
from tracker_strategies.algorithms.least_squares._scaled_quadratic import ScaledQuadratic
from tracker_strategies.algorithms.numerics import kernels, thresholds
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp
from tracker_strategies.algorithms.sets import project_simplex
from tracker_strategies.errors import InputError, MissingExtraError, ParameterError
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest

ROOT = Path(__file__).resolve().parents[3]
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


quadratics = {
    "n": st.integers(1, 40),
    "seed": st.integers(0, 100_000),
    "spread": st.sampled_from([0.0, 1.0, 3.0]),
    "room": st.sampled_from([1e-3, 0.4, 1.0, 7.0]),
}


@needs_numba
@common
@given(**quadratics, share=st.floats(0.3, 1.0))
def test_quadratic(n, seed, spread, room, share):
    """Names are held at the start or not, sold out on the way or bought, and with a mask some keep their weights."""
    quadratic, B, H, q, now = problem(n, seed, spread)
    before, off = B.copy(), 1.0 + 1e-10  # what rounding may do to the sum, and the solution puts right
    start = now * room * off
    some = np.random.default_rng(seed + 1).random(n) < share
    for free in (None, some) if start[some].any() else (None,):
        chosen = np.ones(n, dtype=bool) if free is None else free
        still, size = np.where(chosen, 0.0, start), float(start[chosen].sum()) / off
        a, b = by_both(lambda free=free, size=size: quadratic.solve(start, size, free, 1e-15))
        best, _ = solve_simplex_qp(H[np.ix_(chosen, chosen)], (q - H @ still)[chosen], total=size)
        np.testing.assert_allclose(b.w, a.w, rtol=0, atol=1e-7)
        np.testing.assert_allclose(b.w[chosen], best, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(b.w[~chosen], start[~chosen])
        assert b.gap <= 1e-15
        assert abs(b.w[chosen].sum() - size) <= EQUAL * size
        assert (b.w >= 0.0).all()
    np.testing.assert_array_equal(B, before)
    np.testing.assert_array_equal(start, now * room * off)


@needs_numba
@common
@given(**quadratics | {"enough": st.sampled_from([1e-1, 1e-3, 1e-6])})
def test_what_a_quadratic_leaves_to_gain_is_bounded(n, seed, spread, room, enough):
    quadratic, _, H, q, now = problem(n, seed, spread)
    kernels.use("numba")
    found = quadratic.solve(now * room, room, None, enough)
    best, _ = solve_simplex_qp(H, q, total=room)
    value = lambda w: 0.5 * w @ H @ w - q @ w  # noqa: E731
    assert value(found.w) - value(best) <= found.gap + 1e-10
    assert found.gap <= enough
    prices, held = H @ found.w - q, found.w > 0.0
    gains = prices[held].mean() - prices
    gains[~held] = np.maximum(gains[~held], 0.0)
    assert found.gap == pytest.approx(gains @ gains / (2.0 * 0.5), rel=1e-6, abs=1e-12), "of the formula, with the floor 0.5"
    assert 1 <= found.products <= kernels.compiled.MOST_PRODUCTS


def parts_of_a_quadratic(n):
    """What the kernel is given, by name."""
    _, B, _, q, now = problem(n, 4, 0.0)
    a = np.random.default_rng(4).uniform(0.5, 2.0, n)
    numbers = {"c": 0.7, "floor": 0.01, "room": 1.0, "enough": 1e-10}
    return {"now": now, "upper": (B * np.outer(a, a)).T, "inverse": 1.0 / a, "q": q} | numbers


def solved(now, upper, c, inverse, q, floor, room, enough):
    diagonal = upper.T.reshape(-1)[:: now.size + 1]
    return ScaledQuadratic(upper, diagonal, c, 1.0 / inverse, inverse, q, floor).solve(now, room, None, enough)


@needs_numba
def test_a_quadratic_is_one_call_whatever_the_memory_looks_like():
    kernels.use("numba")
    parts = parts_of_a_quadratic(37)
    first = kernels.compiled.quadratic_simplex(**parts)
    for shift in range(1, 9):  # away from every boundary that vector units like
        moved = dict(parts)
        for name in ("now", "inverse", "q"):
            moved[name] = np.empty(37 + shift)[shift:]
            moved[name][:] = parts[name]
        moved["upper"] = np.empty(37 * 37 + shift)[shift:].reshape(37, 37).T
        moved["upper"][:] = parts["upper"]
        for again in (kernels.compiled.quadratic_simplex(**moved), solved(**parts)):
            np.testing.assert_array_equal(again.w, first.w)
            assert (again.gap, again.products) == (first.gap, first.products)
    strided = dict(parts) | {name: np.repeat(parts[name], 2)[::2] for name in ("now", "inverse", "q")}
    np.testing.assert_array_equal(kernels.compiled.quadratic_simplex(**strided).w, first.w)
    rows = dict(parts) | {"upper": np.ascontiguousarray(parts["upper"])}
    np.testing.assert_array_equal(kernels.compiled.quadratic_simplex(**rows).w, first.w)


@needs_numba
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["now", "upper", "c", "inverse", "q", "room"])
@pytest.mark.parametrize("at", range(3), ids=["held", "not held", "last"])
def test_a_quadratic_that_is_not_finite_is_left_to_numpy(name, value, at):
    kernels.use("numba")
    parts = parts_of_a_quadratic(9)
    held = parts["now"] > 0.0
    i = (held.argmax(), held.argmin(), 8)[at]
    assert held[i] == (at == 0) or at == 2
    if name in ("c", "room"):
        parts[name] = value
    else:
        parts[name] = parts[name].copy(order="K")
        parts[name][(0, i) if name == "upper" else i] = value
    assert kernels.compiled.quadratic_simplex(**parts) is None


@needs_numba
def test_a_quadratic_is_left_to_numpy_where_it_is_too_large_or_never_precise_enough():
    kernels.use("numba")
    assert kernels.compiled.quadratic_simplex(**parts_of_a_quadratic(kernels.compiled.LARGEST)) is not None
    for parts in (parts_of_a_quadratic(kernels.compiled.LARGEST + 1), parts_of_a_quadratic(30) | {"enough": -1.0}):
        assert kernels.compiled.quadratic_simplex(**parts) is None
        a, b = by_both(lambda parts=parts: solved(**parts))
        np.testing.assert_array_equal(a.w, b.w)
        assert a.products == b.products


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
@pytest.mark.parametrize("cls", [PA, APAS, LeastSquares])
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


@needs_numba
@pytest.mark.parametrize("gaps", [False, True], ids=["all names", "names that come and go"])
@pytest.mark.parametrize("n_assets", [12, 140])
def test_a_whole_backtest_of_least_squares_gives_the_same_weights(n_assets, gaps, monkeypatch):
    """As precise as asked for: both solve each bar to a given share of past errors, and numpy's factorisation often beyond."""
    panel = random_panel(n_bars=80, n_assets=n_assets, seed=9, gaps=gaps)
    options = {"listing_warmup": 2, "delist_after": 3}
    a, b = by_both(lambda: replay(panel, "least-squares", options))
    assert (a.decisions != b.decisions).any(), "numba has solved it"
    assert b.metrics()["te_rms"] == pytest.approx(a.metrics()["te_rms"], rel=1e-2)
    monkeypatch.setattr("tracker_strategies.algorithms.least_squares.dense.PRECISION", 1e-15)
    a, b = by_both(lambda: replay(panel, "least-squares", options))
    assert np.abs(a.decisions[-1] - a.decisions[0]).max() > 1e-3, "the weights have moved"
    np.testing.assert_allclose(b.decisions, a.decisions, rtol=0, atol=1e-8)


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
    monkeypatch.delitem(sys.modules, "tracker_strategies.algorithms.numerics.numba_kernels", raising=False)
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
    (tmp_path / "tracker_strategies/algorithms/numerics/__pycache__").touch()
    (tmp_path / "file").touch()
    nowhere = {name: str(tmp_path / "file") for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")}
    done = run(CACHE, cwd=tmp_path, **nowhere)
    assert done.stdout.split() == ["None", "0", str(tmp_path / "tracker_strategies/algorithms/numerics/numba_kernels.py")], (
        done.stderr
    )
