r"""Discounted ridge regressions that choose their own form: inner products on the first rounds, a d x d matrix later."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms._kinds import Kinds, flag, piece, real
from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.vaw._forms import Look
from tracker_strategies.algorithms.vaw._ridge_dual import DualRidge
from tracker_strategies.algorithms.vaw._ridge_primal import PrimalRidge
from tracker_strategies.algorithms.vaw._ridge_sketch import SketchRidge
from tracker_strategies.errors import ParameterError


def dual_rounds_worth_it(d: int, K: int) -> int:
    """Return the round up to which inner products are the faster form.

    In microseconds a round of the matrix form takes K (30 + 2.3e-4 d^2), one of the other 60 + 8 K + 4e-4 t d + 6e-4 K t^2.
    """
    a, b, c = 6e-4 * K, 4e-4 * d, K * (22.0 + 2.3e-4 * d * d) - 60.0
    return 0 if c <= 0.0 else min(int((math.sqrt(b * b + 4.0 * a * c) - b) / (2.0 * a)), d)


class DiscountedRidge(Part):
    r"""Discounted ridge regressions towards a prior, one for each of K discount factors and q responses.

    What is computed stands at :class:`PrimalRidge`; :class:`DualRidge` computes the same on the first rounds. The change from one
    to the other costs O(t d^2) once and shows in nothing but speed.

    Parameters
    ----------
    d : int
        Number of assets.
    gammas : array_like, shape (K,)
        Discount factors in (0, 1].
    lam, floor : float
        First regulariser, and what it never falls below.
    q : int
        Number of responses.
    prior : "uniform", None or ndarray, shape (d,)
        Solution before the first round: equal parts of the known assets, nothing, or as given, in proportion among known assets.
    dual_rounds : int, optional
        Most rounds by inner products; as long as that is cheaper by default. The first change of the universe ends them.
    sketch : int, optional
        Rank of a sketch that stands for the matrix, for one discount: :class:`SketchRidge`.

    Notes
    -----
    Assets become known in their first round. Their regulariser starts at `lam` then; in earlier rounds they count as unmoved.
    """

    _state = ("_wish", "_uniform", "_known", "_complete", "_started", "_form")
    _kinds: ClassVar[Kinds] = {
        "_wish": real("d"),
        "_uniform": flag(),
        "_known": flag("d"),
        "_complete": flag(),
        "_started": flag(),
        "_form": piece("DualRidge", "PrimalRidge", "SketchRidge", d="d", q="q"),
    }

    def __init__(
        self,
        d: int,
        gammas: Any,
        lam: float,
        floor: float,
        q: int,
        prior: str | Array | None,
        dual_rounds: int | None,
        sketch: int | None = None,
    ) -> None:
        gammas = np.array(gammas, dtype=np.float64)
        self._uniform = isinstance(prior, str)
        self._wish: Array = np.ones(d) if isinstance(prior, str) else np.zeros(d) if prior is None else np.array(prior)
        self._known: Mask = np.zeros(d, dtype=np.bool_)
        self._complete = self._started = False
        prior = self._prior_of(~self._known)
        rounds = dual_rounds_worth_it(d, len(gammas)) if dual_rounds is None else min(dual_rounds, d)
        self._form: DualRidge | PrimalRidge | SketchRidge
        if sketch is not None:
            self._form = SketchRidge(d, float(gammas[0]), lam, floor, q, prior, sketch)
        elif rounds:
            self._form = DualRidge(d, gammas, lam, floor, q, prior, rounds)
        else:
            self._form = PrimalRidge(d, gammas, lam, floor, q, prior)

    def _sound(self) -> None:
        if self._complete != bool(self._known.all()) or (self._known.any() and not self._started):
            raise ParameterError("_complete and _started must agree with _known")

    @property
    def gammas(self) -> Array:
        """The discount factors, shape (K,)."""
        return self._form.gammas

    @property
    def prior(self) -> Array:
        """The prior of the assets that are known, shape (d,)."""
        return self._form.prior

    @property
    def known(self) -> Mask:
        """Which assets have taken part in a round; all of them before the first."""
        return self._known if self._started else np.ones_like(self._known)

    def _prior_of(self, known: Mask) -> Array:
        """Return the prior of the known assets: the mass of the others goes to them in proportion."""
        prior = np.where(known, self._wish, 0.0)
        mass, left = 1.0 if self._uniform else float(self._wish.sum()), float(prior.sum())
        return np.asarray(prior * (mass / left) if mass > 0.0 and left > 0.0 else prior)

    # ------------------------------------------------------------------ one round

    def look(self, x: Array, repair: bool = True) -> Look:
        """Return the causal predictions of x, shape (K, q), and its leverages, shape (K,), from the rounds before."""
        return self._form.look(x, repair)

    def learn(self, x: Array, y: Array, look: Look) -> None:
        """Take in the round, given what :meth:`look` said of x; y has shape (q,)."""
        self._form.learn(x, y, look)
        form = self._form
        if isinstance(form, DualRidge) and form.full:
            self._form = form.primal()

    def gains(self, x: Array, look: Look) -> Array:
        r"""Return :math:`\Sigma_t^{-1} x_t`, shape (K, d): how a round moves the solution per unit of its error."""
        return self._form.gains(x, look)

    def combined(self, mix: Array) -> Array:
        """Return the sum of the solutions with the weights `mix`, shape (K, q)."""
        return self._form.combined(mix)

    # ------------------------------------------------------------------ a changing universe

    def meet(self, free: Mask | None) -> None:
        """Let assets that take part in a round for the first time start; None means all."""
        if self._complete:
            return
        new = ~self._known if free is None else free & ~self._known
        if not new.any():
            return
        self._known |= new
        self._complete = bool(self._known.all())
        if not self._started:
            self._started = True
            self._form.begin(self._known, self._prior_of(self._known))
        else:
            self._change(~new & new, new)

    def forget(self, left: Mask) -> None:
        """Lose what was learnt about assets, as if they had never moved; they start again in the next round they take part in."""
        left = left & self._known
        if left.any():
            self._known &= ~left
            self._complete = False
            self._change(left, ~left & left)

    def _change(self, left: Mask, new: Mask) -> None:
        if isinstance(self._form, DualRidge):
            self._form = self._form.primal()
        self._form.change(left, new, self._prior_of(self._known))

    def twin(self, gamma: float) -> None:
        """Add a discount that begins in the state of the last one."""
        assert not isinstance(self._form, SketchRidge), "a sketch has one discount"
        self._form.twin(gamma)
