"""Sparse PLS on a whole sample: thresholding, factors, the choice of their number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms.sparse_pls import choose_sparse_pls, sparsify
from tracker_strategies.algorithms.sparse_pls.batch import sparse_pls
from tracker_strategies.algorithms.sparse_pls.thresholding import survivors
from tracker_strategies.errors import InputError, ParameterError

SEEDS = st.integers(0, 2**32 - 1)
VECTORS = st.lists(
    st.one_of(st.floats(-1e6, 1e6, allow_subnormal=False), st.sampled_from([0.0, 1.0, -1.0, 2.0])), min_size=1, max_size=30
)


def groups(seed: int, rounds: int = 200, size: int = 10, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Three groups of variables, each with a factor of its own; the target follows the first twice as much as the second."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((rounds, 3))
    X = np.repeat(F, size, axis=1) + noise * rng.standard_normal((rounds, 3 * size))
    return X, 10.0 * F[:, 0] + 5.0 * F[:, 1] + rng.standard_normal(rounds)


# ------------------------------------------------------------------ exactly theta survivors


@given(VECTORS, st.data())
def test_exactly_so_many_survive(values: list[float], data: st.DataObject) -> None:
    theta = data.draw(st.integers(1, len(values)))
    u = np.array(values)
    sparse, gamma = sparsify(u, theta)
    size, kept = np.abs(u), sparse != 0.0
    assert np.count_nonzero(kept) == min(theta, np.count_nonzero(u))
    assert gamma >= 0.0
    if u.any():
        assert np.linalg.norm(sparse) == pytest.approx(1.0)
    assert (np.sign(sparse[kept]) == np.sign(u[kept])).all()
    if kept.any() and not kept.all():
        assert size[~kept].max() <= size[kept].min()  # none that left is larger than one that stayed
    ties = np.flatnonzero(size == size[kept].min()) if kept.any() else np.zeros(0, dtype=int)
    assert (np.diff(kept[ties].astype(int)) <= 0).all()  # among equals the lower index stays
    # the threshold is the largest size below the smallest that stays
    below = size[size < np.sort(size)[::-1][theta - 1]]
    assert gamma == (below.max() if below.size and theta < len(values) else 0.0)


@given(VECTORS, st.data())
def test_a_guess_saves_the_search_and_changes_nothing(values: list[float], data: st.DataObject) -> None:
    u = np.array(values)
    theta = data.draw(st.integers(1, len(values)))
    guess = np.sort(data.draw(st.permutations(range(len(values))))[:theta])
    for given_ in (guess, survivors(u, theta)[0]):
        found, expected = survivors(u, theta, given_.copy()), survivors(u, theta)
        alive, expected_alive = found[0][found[1] != 0.0], expected[0][expected[1] != 0.0]
        np.testing.assert_array_equal(alive, expected_alive)
        np.testing.assert_array_equal(found[1][found[1] != 0.0], expected[1][expected[1] != 0.0])


def test_tiny_and_huge_vectors_survive_too() -> None:
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        np.testing.assert_allclose(sparsify(scale * np.array([3.0, -2.0, 1.0]), 2)[0], np.array([2.0, -1.0, 0.0]) / 5.0**0.5)


def test_more_survivors_than_variables_are_refused() -> None:
    with pytest.raises(ParameterError, match="theta must be at most the number of variables, 3, got 4"):
        sparsify([1.0, 2.0, 3.0], 4)
    with pytest.raises(ParameterError, match="theta"):
        sparsify([1.0, 2.0, 3.0], 0)


# ------------------------------------------------------------------ factors


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 3), st.integers(1, 30))
def test_each_factor_has_theta_names_unit_length_and_a_positive_largest_entry(seed: int, R: int, theta: int) -> None:
    X, y = groups(seed)
    fit = sparse_pls(X, y, n_factors=R, theta=theta)
    assert (np.count_nonzero(fit.U, axis=0) == theta).all()
    np.testing.assert_allclose(np.linalg.norm(fit.U, axis=0), 1.0, atol=1e-12)
    assert (fit.U[np.abs(fit.U).argmax(axis=0), range(R)] > 0.0).all()
    S = X @ fit.U
    np.testing.assert_allclose(S.T @ (y[:, None] - S @ fit.W), 0.0, atol=1e-6 * np.abs(S.T @ y).max())  # normal equations


def test_the_groups_that_matter_are_found() -> None:
    X, y = groups(1)
    fit = sparse_pls(X, y, n_factors=2, theta=10)
    assert set(np.flatnonzero(fit.U[:, 0])) == set(range(10))
    X, y = groups(2)
    assert set(sparse_pls(X, y, n_factors=1, theta=20).support) == set(range(20))


def test_without_sparsity_one_factor_is_the_first_eigenvector() -> None:
    X, y = groups(3)
    H = 1e-5 * X.T @ X + (1.0 - 1e-5) * np.outer(X.T @ y, X.T @ y)
    u = sparse_pls(X, y, theta=30).U[:, 0]
    np.testing.assert_allclose(np.abs(u), np.abs(np.linalg.eigh(H)[1][:, -1]), atol=1e-8)


def test_normalised_parts_make_alpha_free_of_units() -> None:
    X, y = groups(4)
    plain = sparse_pls(X, y, n_factors=2, theta=8, alpha=0.5, normalise=True)
    small = sparse_pls(1e-2 * X, 1e-3 * y, n_factors=2, theta=8, alpha=0.5, normalise=True)
    np.testing.assert_allclose(small.U, plain.U, atol=1e-9)
    raw = [sparse_pls(X, scale * y, theta=8, alpha=0.5).U for scale in (1.0, 1e-4)]
    assert not np.allclose(raw[0], raw[1], atol=1e-3)


def test_cross_validation_finds_the_size_of_the_model() -> None:
    """Ten noisy readings of what drives the target among sixty variables: all ten help, the other fifty do harm."""
    rng = np.random.default_rng(5)
    X = 2.0 * rng.standard_normal((50, 60))
    driver = rng.standard_normal(50)
    X[:, :10] += driver[:, None]
    choice = choose_sparse_pls(X, driver + 0.1 * rng.standard_normal(50), n_factors=(1, 2), thetas=(1, 10, 60))
    assert choice.errors.shape == (2, 3)
    assert choice.theta == 10
    assert choice.errors[choice.n_factors - 1, 1] == choice.errors.min()
    assert choice.fit.U.shape == (60, choice.n_factors)


def test_cross_validation_scores_rounds_it_has_not_seen() -> None:
    """On pure noise a larger model cannot win by fitting what it is scored on."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((60, 20)), rng.standard_normal(60)
    errors = choose_sparse_pls(X, y, n_factors=(1, 2), thetas=(1, 20), folds=5).errors
    assert errors.min() > 0.9 * y.var()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"theta": 31}, "theta must be at most"),
        ({"theta": 0}, "theta"),
        ({"n_factors": 31}, "n_factors must be at most"),
        ({"alpha": 1.5}, "alpha"),
        ({"alpha": -0.1}, "alpha"),
    ],
)
def test_bad_parameters_are_refused(change: dict, words: str) -> None:
    X, y = groups(7, rounds=40)
    with pytest.raises(ParameterError, match=words):
        sparse_pls(X, y, **({"theta": 5} | change))


def test_bad_samples_are_refused() -> None:
    X, y = groups(8, rounds=40)
    for A, B in ((X[:10], y), (X, y[:, None, None]), (X[0], y), (np.where(X > 2, np.nan, X), y), (X[:0], y[:0])):
        with pytest.raises(InputError):
            sparse_pls(A, B, theta=2)
    with pytest.raises(ParameterError, match="folds"):
        choose_sparse_pls(X, y, thetas=(2,), folds=1)
    with pytest.raises(ParameterError, match="thetas"):
        choose_sparse_pls(X, y, thetas=(2, 31))
    with pytest.raises(ParameterError, match="thetas"):
        choose_sparse_pls(X, y, thetas=())
