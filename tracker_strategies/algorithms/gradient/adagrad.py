"""AdaGrad: gradient steps with a learning rate of its own for each asset."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, number, one_of
from tracker_strategies.algorithms._kinds import Kinds, real
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.gradient import _diagonal_metric as diagonal_metric
from tracker_strategies.algorithms.gradient import _full_metric as full_metric
from tracker_strategies.algorithms.gradient._base import GradientLearner, check_loss
from tracker_strategies.algorithms.gradient._diagonal_metric import DiagonalMetric, check_step
from tracker_strategies.algorithms.gradient._full_metric import FullMetric
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import Box, CappedSimplex, FeasibleSet, Hyperplane, L1Ball, RealSpace, Simplex
from tracker_strategies.errors import ParameterError

RULES = ("cmd", "rda")
MATRICES = ("diagonal", "full")
ROUNDING2 = 1e-20
"""Square of the share of ||x|| up to which an error counts as rounding.

A metric that has seen rounding only is next to nothing, and the steps that it allows double the error many times in a round.
Returns are known to 1e-16 or so: 1e-15 of ||x|| on daily bars of a hundred names, 1e-11 on one name's bars of a second."""


@learner(
    "adagrad",
    shows=("step_min", "step_median", "step_max"),
    examples=lambda n: (
        {"eta": 0.1},
        {"eta": 0.1, "rule": "rda", "regulariser": "l2sq", "lam": 1e-4},
        {"eta": 0.1, "loss": "eps_insensitive", "feasible": CappedSimplex(max(0.6, 1.0 / n))},
        {"eta": 0.1, "loss": "hinge"},
        {"eta": 0.1, "matrix": "full"},
        {"eta": 0.1, "matrix": "full", "rule": "rda"},
        {"eta": 0.1, "feasible": RealSpace(), "regulariser": "l2", "lam": 1e-6},
        {"eta": 0.1, "rule": "rda", "feasible": L1Ball(1.5), "regulariser": "l1", "lam": 1e-7},
        {"eta": 0.1, "loss": "eps_insensitive", "delta": 0.0, "feasible": Box(-0.1, 0.6)},
        {"eta": 0.1, "feasible": Hyperplane()},
        {"eta": 0.1, "matrix": "full", "rule": "rda", "delta": 0.0, "feasible": RealSpace()},
        {
            "eta": 1e-6,
            "delta": 1e-9,
            "regulariser": "l2sq",
            "lam": 0.1,
            "strongly_convex": True,
            "feasible": RealSpace(),
            "start": [0.0] * n,
        },
    ),
)
class AdaGrad(GradientLearner):
    r"""Adaptive subgradient descent in the metric of all gradients so far.

    .. math::

        H_t = \delta I + \mathrm{diag}(s_t),\quad s_{t,i} = \sqrt{\textstyle\sum_{\tau \le t} g_{\tau,i}^2}
        \qquad\text{or}\qquad H_t = \delta I + \Big(\sum_{\tau \le t} g_\tau g_\tau^\top\Big)^{1/2}

    :math:`g_t` enters :math:`H_t` before the step, which is one of

    .. math::

        \text{cmd: } & w_{t+1} = \arg\min_{w \in W}\; \eta\, g_t \cdot w + \eta\, \varphi(w)
            + \tfrac12 (w - w_t)^\top H_t (w - w_t) \\
        \text{rda: } & w_{t+1} = \arg\min_{w \in W}\; \eta \sum_{\tau \le t} g_\tau \cdot w + \eta\, t\, \varphi(w)
            + \tfrac12 w^\top H_t w

    and is solved exactly, constraints in the metric :math:`H_t` included. Asset i moves with the step size
    :math:`\eta/H_{t,i}`: small where gradients have been large.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    loss : {"squared", "eps_insensitive", "hinge"}, default "squared"
        :math:`\tfrac12 (w \cdot x - y)^2`, :math:`[\,|w \cdot x - y| - \varepsilon\,]_+`, or, for labels y = +-1,
        :math:`[1 - y\, w \cdot x]_+`.
    eps : float, default 1e-4
        :math:`\varepsilon` of the eps-insensitive loss, >= 0, in units of returns.
    rule : {"cmd", "rda"}, default "cmd"
        Composite mirror descent, or the primal-dual method (regularised dual averaging).
    matrix : {"diagonal", "full"}, default "diagonal"
    eta : float, optional
        Step size, > 0. Default 1.5/N for the squared loss, 0.5/N for the eps-insensitive one: about a weight per round at first.
        For the hinge loss 1. The theory's choice, the diameter of W over :math:`\sqrt2`, is far too large on a simplex.
    delta : float, default 1e-8
        Floor of the metric, >= 0, in units of gradients. Those of the squared loss on daily returns are about 1e-5;
        a delta of 1e-3 would dominate them. 0 is possible on R^N and boxes only: there an asset that has had no gradient yet
        keeps its weight (cmd) or has weight 0 (rda).
    regulariser : {"none", "l1", "l2sq", "l2", "linf", "l1l2", "l1linf"}, default "none"
        :math:`\varphi`, see :class:`~tracker_strategies.algorithms.gradient._regularisers.Regulariser` and the table below.
    lam : float, optional
        Its weight :math:`\lambda \ge 0`.
    groups : sequence of sequences of int, optional
        Groups of the mixed norms "l1l2" and "l1linf".
    strongly_convex : bool, default False
        Let the metric grow faster, :math:`s_{t,i} = \sum_\tau g_{\tau,i}^2` without the root (cmd, diagonal). The regret is then
        logarithmic if :math:`\varphi` is strongly convex ("l2sq") and :math:`\eta \ge \max \|g\|_\infty^2/\lambda`, which has to
        be given.
    feasible : FeasibleSet, default Simplex()
        The set W.
    start : array_like, shape (N,), optional
        :math:`w_1`; by default uniform on the simplex, the point of W nearest to 0 on other sets.

    Notes
    -----
    Exact steps exist, and others are refused, for

    =================  ===============================================  =================
    set                diagonal                                         full
    =================  ===============================================  =================
    RealSpace          every regulariser                                none, l2sq, l2
    Simplex            none, l1 (without effect), l2sq                  none, l1, l2sq
    CappedSimplex      none, l1 (without effect), l2sq
    Box, L1Ball        none, l1, l2sq
    Hyperplane         none, l2sq                                       none, l2sq
    =================  ===============================================  =================

    Cost per round: O(N), and the projection; O(N^3) with the full matrix. State: the weights and N numbers, N more for rda,
    N^2 with the full matrix. For sparse instances in high dimension see :class:`SparseAdaGrad`.

    An error of the squared loss up to :math:`10^{-10} \|x_t\|` is rounding and gives no gradient: at an exact solution the
    weights do not change.

    With rda the new weights do not depend on the last ones: an asset that joins later has a small metric, and gets more than
    its share until that has grown. If names come and go, cmd is the better choice.

    Regret against any :math:`w^* \in W`, with :math:`\Gamma = \sum_i \|g_{1:T,i}\|` (Theorem 6; cmd):
    :math:`\frac{\delta}{2\eta}\|w^*-w_1\|^2 + \frac{1}{2\eta}\max_t \|w^*-w_t\|_\infty^2\, \Gamma + \eta\, \Gamma`. The first
    term is missing in print. With delta = 0 a common factor of all gradients changes nothing.

    References
    ----------
    Duchi, Hazan, Singer, *Adaptive subgradient methods for online learning and stochastic optimization*, UCB/EECS-2010-24:
    updates Eqs. 3 and 4, diagonal Fig. 1 and Theorem 6, full Fig. 2 and Theorem 8, strongly convex sec. 5, solutions sec. 6.

    Examples
    --------
    >>> from tracker_strategies.algorithms import AdaGrad, learner
    >>> learner = AdaGrad(2, eta=0.1)
    >>> learner.update([0.02, -0.01], 0.02).round(4).tolist()  # the index moved like the first asset
    [0.6, 0.4]
    >>> {name: round(value, 2) for name, value in learner.diagnostics().items()}
    {'loss': 0.0, 'prediction': 0.01, 'step_min': 333.32, 'step_median': 499.97, 'step_max': 666.62}
    """

    _state = (*GradientLearner._state, "_sum2", "_root")
    _kinds: ClassVar[Kinds] = {
        "_sum2": real("n", least=0.0),
        "_root": real("n", "n", none=True),
    }
    _rounding2 = ROUNDING2

    def __init__(
        self,
        n_assets: int,
        *,
        loss: str = "squared",
        eps: float = 1e-4,
        rule: str = "cmd",
        matrix: str = "diagonal",
        eta: float | None = None,
        delta: float = 1e-8,
        regulariser: str = "none",
        lam: float | None = None,
        groups: Any = None,
        strongly_convex: bool = False,
        feasible: FeasibleSet = Simplex(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        one_of("rule", rule, RULES)
        one_of("matrix", matrix, MATRICES)
        self.rule = self._rule = rule
        self.matrix = matrix
        self.strongly_convex = bool(strongly_convex)
        if self.strongly_convex and (rule != "cmd" or matrix != "diagonal" or eta is None):
            raise ParameterError(
                "strongly_convex=True needs rule='cmd', matrix='diagonal' and a step size eta >= max|g|^2/lam; "
                f"got rule={rule!r}, matrix={matrix!r}, eta={eta!r}"
            )
        if eta is None:
            eta = default_eta(loss, n_assets)
        super().__init__(n_assets, loss, eps, eta, feasible, start, regulariser, lam, groups)
        self.delta = number("delta", delta, least=0.0)
        check_step(feasible, self._phi, diagonal_metric.STEPS if matrix == "diagonal" else full_metric.STEPS, matrix)
        if self.delta == 0.0 and not isinstance(feasible, RealSpace | Box):
            raise ParameterError(
                f"delta must be > 0 on {feasible!r}: otherwise an asset that has had no gradient yet has no metric"
            )
        self._sum2: Array = np.zeros(self.n_assets)
        self._root: Array | None = np.zeros((self.n_assets, self.n_assets)) if matrix == "full" else None

    def _forget(self, left: Mask) -> None:
        super()._forget(left)
        self._sum2[left] = 0.0
        if self._root is not None and self._root[left].any():
            factor = self._root.copy()
            factor[left] = 0.0  # G loses the same rows, and the columns
            self._root = full_metric.matrix(*full_metric.root_of_gram(factor), self._sum2 > 0.0)

    def _advance(self, w: Array, g: Array, W: FeasibleSet, free: Mask | None) -> Array:
        part = slice(None) if free is None else free
        sum2 = g * g
        sum2 += self._sum2[part]
        if self._root is None:
            new = self._move(DiagonalMetric(self._diagonal(sum2)), w, g, W, free)
        else:
            padded, seen = np.zeros(self.n_assets), self._sum2 > 0.0
            padded[part], seen[part] = g, sum2 > 0.0
            s, Q = full_metric.root_of_gram(np.column_stack((self._root, padded)))
            root = full_metric.matrix(s, Q, seen)
            new = self._move(self._full(root, s, Q, free), w, g, W, free)
            self._root = root
        if free is None:
            self._sum2 = sum2
        else:
            self._sum2[free] = sum2
        return new

    def _diagonal(self, sum2: Array) -> Array:
        if self.strongly_convex:
            return self.delta + sum2
        H = np.sqrt(sum2)
        H += self.delta
        return np.asarray(H)

    def _full(self, root: Array, s: Array, Q: Array, free: Mask | None) -> FullMetric:
        """Return the metric of the coordinates that take part: a principal part of the whole, and what ties them to the rest."""
        if free is None:
            return FullMetric(s, Q, self.delta)
        s, Q = np.linalg.eigh(root[np.ix_(free, free)])
        return FullMetric(np.maximum(s, 0.0), Q, self.delta, root[np.ix_(free, ~free)] @ self._w[~free])

    @property
    def H(self) -> Array:
        """Diagonal of the metric after the last round, shape (N,); `delta` for an asset without a gradient so far."""
        return self._diagonal(self._sum2) if self._root is None else self.delta + np.diag(self._root)

    def diagnostics(self) -> dict[str, float]:
        r"""Return loss and prediction of the last round, and the smallest, middle and largest step size :math:`\eta/H_{t,i}`.

        Only assets that have had a gradient count; step sizes are 0 before there is one.
        """
        H = self.H[self._sum2 > 0.0]
        steps = self.eta / H if H.size else np.zeros(1)
        low, middle, high = float(steps.min()), float(np.median(steps)), float(steps.max())
        return super().diagnostics() | {"step_min": low, "step_median": middle, "step_max": high}


def default_eta(loss: Any, n_assets: Any) -> float:
    """Return the step size for daily returns of n assets."""
    n = count("n_assets", n_assets)
    return {"squared": 1.5 / n, "eps_insensitive": 0.5 / n, "hinge": 1.0}[check_loss(loss)]
