"""What the tests of whole lots share."""

import numpy as np

from tracker_strategies.execution.mandate.limits import Limits
from tracker_strategies.execution.mandate.lots.rounding import round_lots
from tracker_strategies.execution.mandate.metric import Metric

VARIANCE = 1e-4


def limits(n, **given):
    plain = {"upper": np.ones(n), "least": np.zeros(n), "must": np.zeros(n), "frozen": np.zeros(n, dtype=bool)}
    return Limits(**{**plain, **given})


def metric(n, seed=0, factors=2):
    rng = np.random.default_rng(seed)
    return Metric(1e-4 * np.exp(0.5 * rng.standard_normal(n)), 0.01 * rng.standard_normal((n, factors)))


def rounded(wish, held, value, rules=None, *, known=None, variance=VARIANCE, total=1.0, **given):
    n = len(wish)
    everything = dict.fromkeys(("support", "can_buy", "can_sell"), np.ones(n, dtype=bool))
    rules = limits(n) if rules is None else rules
    return round_lots(
        wish, held, value, metric(n) if known is None else known, variance, rules, **{**everything, "total": total, **given}
    )
