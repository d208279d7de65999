r"""The share counts of an index, with heavy-tailed priors: a few members that differ in memory and prior, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, flag, fraction, number
from tracker_strategies.algorithms._validation import Array, Mask, finite_vector
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.drift import drifted
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Simplex
from tracker_strategies.algorithms.share_counts._members import Members
from tracker_strategies.algorithms.share_counts._settings import settings
from tracker_strategies.algorithms.share_counts._stack import Stack
from tracker_strategies.errors import InputError, ParameterError

TINY = 1e-300
LEAST_EXCESS = 1e-6
"""A bar on which all returns over the index sum to less, in absolute terms, counts as one of this size."""


@learner(
    shows=("noise", "error"),
    examples=lambda n: (
        {},
        {"gamma": [0.98, 0.2], "ridge": 0.01, "prior": "equal", "inertia": 3.0, "kappa": [2.0, 1.0], "exact": True},
    ),
)
class ShareCounts(OnlineAlgorithm):
    r"""The portfolio of share counts that is most plausible, given the past and that weights of an index are heavy-tailed.

    An index holds a constant number of shares of each name between two reviews. With the prices over the index
    :math:`a_{t,i}`, 1 at the start, holdings v of such an index have the weights :math:`a_t \circ v` at all times, and
    :math:`v \cdot z_t = 0` on every bar for the rows :math:`z_t = a_{t-1} \circ (x_t - y_t)`. With no more bars than names that
    does not determine v; the prior decides. Member k takes :math:`v = v_0 e^r` (log-normal, :math:`\kappa = 0`) or
    :math:`v_0 (1 + r/\kappa)^\kappa` (Box-Cox; 1 is Gaussian) with :math:`r \sim N(0, 1)`, and moves by one Gauss-Newton step per
    bar towards the most plausible

    .. math::

        \min_r \tfrac12 \sum_{s \le t} \gamma^{t-s} h'_s (z_s \cdot v)^2 + \tfrac12 c\, \sigma_t^2 |r|^2
            + \tfrac12 \pi_t \bar C_t |r - r_t|^2 \quad \text{s.t. } a_t \cdot v = 1,

    where :math:`\pi_t` doubles over the first `ramp` rounds, :math:`\bar C_t` is the mean diagonal of the second moments in r,
    :math:`\sigma_t^2` the noise of the best member, and :math:`h'` divides a row by its size, and once more if the error of the
    stack was large (Cauchy). The noise and h' are common to all members: this is one learner with K settings.

    The stack is the mean of the members that would have had the least squared error lately, see `rho` and `psi`. The portfolio
    goes a part of the way to it, `eta`, from what prices have made of it: a learner's own portfolio, whatever the account holds.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    gamma : float or sequence of K floats, default (0.995, 0.98, 0.95, 0.9)
        Discounts in [0, 1), one for each member.
    ridge : float or sequence of K floats, default (0.01, 0.01, 0.03, 0.001)
        Pull c > 0 to the prior, in units of the noise.
    prior : {"inverse_volatility", "equal"} or a sequence of K of them, default the first for two members, the second for two
        Holdings :math:`v_0` that are most plausible before the first bar.
    inertia : float or sequence of K floats, default (3, 3, 1, 3)
        Pull :math:`\pi > 0` to the member's last holdings.
    kappa : float or sequence of K floats, default (0, 2, 0, 1)
        Shape of the prior, >= 0.
    eta : float, default 0.5
        Part of the way to the stack that is traded in a round, in (0, 1].
    rho : float, default 0.02
        Pull of the stack to equal parts, > 0, in units of the squared error of the best member.
    psi : float, default 0.3
        Part of the way to the best parts of the stack that they move in a round, in (0, 1].
    clip : float, default 0.7
        Largest move of an r in a round, > 0.
    robust : float, default 1.5
        An error of this many times the usual one counts by half, from round 12 on; > 0.
    ramp : int, default 150
        Rounds over which inertia doubles, >= 1.
    exact : bool, default False
        Solve each step by factorisation instead of conjugate gradients that end early. It tracks no better.
    prior_weights : array_like, shape (N,), optional
        Known weights of the index at the start, or a proxy of sizes, >= 0: the portfolio and its members start there, and they
        take the place of the inverse volatility. Later ones are given by :meth:`publish`.

    Notes
    -----
    Cost per round and member: one rank-one update and some 4 to 9 products with an N x N matrix, or with the last
    :math:`8/(1-\gamma)` rows where these are fewer than half the names. `exact` takes O(N^3). A name that lists begins at a tenth
    of its prior in the members, and at 0 in the portfolio; what a name that leaves has held goes to the others in proportion.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import ShareCounts, learner
    >>> rng = np.random.default_rng(0)
    >>> X = 0.01 * rng.standard_normal((200, 3))
    >>> shares = np.array([0.6, 0.3, 0.1])  # of an index: its weights drift with prices
    >>> prices = np.vstack([np.ones(3), np.cumprod(1 + X, axis=0)])
    >>> level = prices @ shares
    >>> learner = ShareCounts(3)
    >>> error = learner.run(X, level[1:] / level[:-1] - 1)[-1] - prices[-1] * shares / level[-1]
    >>> bool(abs(error).max() < 0.001)
    True
    """

    _state: ClassVar[tuple[str, ...]] = (
        "_members",
        "_stack",
        "_error",
        "_weight",
        "_products",
    )

    def __init__(
        self,
        n_assets: int,
        *,
        gamma: float | Sequence[float] = (0.995, 0.98, 0.95, 0.9),
        ridge: float | Sequence[float] = (0.01, 0.01, 0.03, 0.001),
        prior: str | Sequence[str] = ("inverse_volatility", "inverse_volatility", "equal", "equal"),
        inertia: float | Sequence[float] = (3.0, 3.0, 1.0, 3.0),
        kappa: float | Sequence[float] = (0.0, 2.0, 0.0, 1.0),
        eta: float = 0.5,
        rho: float = 0.02,
        psi: float = 0.3,
        clip: float = 0.7,
        robust: float = 1.5,
        ramp: int = 150,
        exact: bool = False,
        prior_weights: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=Simplex())
        given = {"gamma": gamma, "ridge": ridge, "prior": prior, "inertia": inertia, "kappa": kappa}
        plain, self._settings = settings(given)
        self.gamma, self.ridge, self.prior = plain["gamma"], plain["ridge"], plain["prior"]
        self.inertia, self.kappa = plain["inertia"], plain["kappa"]
        self.eta, self.psi = (fraction(name, value, above=0.0) for name, value in (("eta", eta), ("psi", psi)))
        self.rho, self.clip = number("rho", rho, above=0.0), number("clip", clip, above=0.0)
        self.robust, self.ramp, self.exact = number("robust", robust, above=0.0), count("ramp", ramp), flag("exact", exact)
        self._members, self._stack = Members(self._w, self._settings.gammas), Stack(len(self._settings.gammas))
        self._error = self._weight = 0.0
        self._products = 0
        self.prior_weights = None
        if prior_weights is not None:
            self.publish(prior_weights, error=ParameterError)
            known = finite_vector("prior_weights", prior_weights)
            self.prior_weights = known.tolist()
            self._w = known / known.sum()
            self._w.setflags(write=False)

    @property
    def _from_held(self) -> bool:
        return False  # share counts are its coordinates already

    @property
    def members(self) -> Array:
        """The members' portfolios, shape (K, N)."""
        return self._members.portfolios

    @property
    def p(self) -> Array:
        """The parts of the members in the stack for the coming round, shape (K,)."""
        return self._stack.p.copy()

    def publish(self, weights: Any, *, proxy: bool = False, error: type[ValueError] = InputError) -> None:
        """Give the current weights of the index: every member continues from them, and those that pull to the inverse volatility
        pull to them from now on.

        Parameters
        ----------
        weights : array_like, shape (N,)
            >= 0, of any positive sum. In the prior a name with 0 counts as one of a thousandth of the smallest.
        proxy : bool, default False
            Whether they are only a proxy of sizes: then they are a prior, and the members stay where they are.
        """
        weights = finite_vector("prior_weights", weights, error, self.n_assets)
        if weights.min() < 0.0 or not weights.sum() > 0.0:
            got = f"a minimum of {weights.min():g} and a sum of {weights.sum():g}"
            raise error(f"prior_weights must be >= 0 with a positive sum, got {got}")
        self._members.publish(weights)
        if not proxy:
            self._members.start_at(weights / weights.sum())

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        members, stack, excess, returns, room = self._members, self._stack, x - y, x, 1.0
        if free is not None:
            (w, room), part, returns = self._own_part(free, w), excess, np.zeros(self.n_assets)
            excess = np.zeros(self.n_assets)
            excess[free], returns[free] = part, x
        members.admit(free, self._settings)
        size = max(float(np.add.reduce(np.abs(excess))), LEAST_EXCESS)
        excess /= size
        errors = members.errors(excess)
        self._error = float(stack.p.dot(errors)) * size
        stack.judge(errors, self.robust)
        self._weight = stack.share / size / size
        members.take_in(excess, stack.share, returns, y, free)
        inertias = (1.0 + min(1.0, self._t / self.ramp)) * self._settings.inertias
        self._products = members.move(self._settings, inertias, stack.noise, self.clip, free, exact=self.exact)
        stack.learn(errors, self.rho, self.psi)
        target: Array = stack.p.dot(members.portfolios)
        if free is not None:
            target = target[free]
        now = drifted(w[None], x)[0]
        target *= self.eta * room / float(np.add.reduce(target))
        target += (1.0 - self.eta) * now
        target *= room / max(float(np.add.reduce(target)), TINY)
        return target

    # ------------------------------------------------------------------ names

    def _own_part(self, free: Mask, w: Array) -> tuple[Array, float]:
        """Return the weights of the names that take part, and their sum: what left goes to them in proportion, not in equal
        amounts.
        """
        part, frozen = self._w[free], self._members.known & ~free
        room, size = max(1.0 - float(self._w[frozen].sum()), 0.0), float(part.sum())
        if abs(room - size) > 1e-12:
            part = part * (room / size) if size > 0.0 else w
        return part, room

    def _handed_on(self, held: Array, allowed: Mask, stay: Mask, left: Mask) -> Array:
        size = float(held[stay].sum())
        if not held[left].any() or not size > 0.0:
            return super()._handed_on(held, allowed, stay, left)
        w = np.zeros(self.n_assets)
        w[stay] = held[stay] * (1.0 / size)
        return w

    def _forget(self, left: Mask) -> None:
        self._members.forget(left)

    def diagnostics(self) -> dict[str, float]:
        """Return the stack's error, the noise of the best member and the weight of the last round, products of a matrix and a
        vector that it took, and the parts of the members, `p_1` to `p_K`.
        """
        parts = {f"p_{k}": part for k, part in enumerate(self._stack.p.tolist(), 1)}
        said = {"error": self._error, "noise": self._stack.noise, "robust_weight": self._weight}
        return {**said, "products": float(self._products), **parts}
