"""How a reproduction answers a sentence of a paper: every part of it is tested, with the noise of the runs, and counted honestly.

A sentence is cut into parts, each a figure per run whose mean must lie on one side of a limit. A part *holds* when the mean does
by more than its confidence interval (95 %, Student's t), *fails* when it lies on the other side by as much, and otherwise there
were *too few runs* to tell: noise never turns a miss into a hit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

CONFIRMED, NOT_CONFIRMED = "confirmed", "not confirmed"
TOO_FEW, UNDECIDED = "too few runs", "undecided"
VERDICTS = (CONFIRMED, NOT_CONFIRMED, TOO_FEW, UNDECIDED)
ENOUGH = 5
"""Fewest runs from which a spread is believed at all."""


class Part(Enum):
    """How one part of a sentence came out."""

    HOLDS = "hold"
    FAILS = "fail"
    OPEN = "too few runs"
    UNTESTED = "could not be tested"


def positive(figures: ArrayLike) -> Part:
    """Whether the mean of one figure per run is above zero."""
    mean, reach = _interval(figures)
    return Part.HOLDS if mean - reach > 0.0 else Part.FAILS if mean + reach <= 0.0 else Part.OPEN


def above(figures: ArrayLike, limit: float) -> Part:
    """Whether the mean is above a limit."""
    return positive(np.asarray(figures, dtype=np.float64) - limit)


def below(figures: ArrayLike, limit: float) -> Part:
    """Whether the mean is below a limit."""
    return positive(limit - np.asarray(figures, dtype=np.float64))


def within(figures: ArrayLike, limit: float, around: float = 0.0) -> Part:
    """Whether the mean is at most `limit` away from a value. More noise never makes this easier."""
    mean, reach = _interval(np.asarray(figures, dtype=np.float64) - around)
    off = abs(mean)
    return Part.HOLDS if off + reach <= limit else Part.FAILS if off - reach > limit else Part.OPEN


def exact(holds: bool) -> Part:
    """A part without chance in it: a theorem, a count, a deterministic example."""
    return Part.HOLDS if holds else Part.FAILS


def _interval(figures: ArrayLike) -> tuple[float, float]:
    """Mean, and how far the truth may lie from it; infinite with too few runs to know."""
    values = np.asarray(figures, dtype=np.float64).ravel()
    n = len(values)
    if n < ENOUGH:
        return float(values.mean()) if n else 0.0, np.inf
    return float(values.mean()), float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))


def verdict(parts: Iterable[Part]) -> str:
    """One word for a whole sentence: `confirmed` when every part of it holds, `not confirmed` when one fails.

    Otherwise `too few runs` when more of them could tell, and `undecided` when a part could not be tested at all.
    """
    found = set(parts)
    if Part.FAILS in found:
        return NOT_CONFIRMED
    if Part.OPEN in found:
        return TOO_FEW
    return CONFIRMED if found == {Part.HOLDS} else UNDECIDED


def answer(claim: str, found: str, parts: Iterable[Part]) -> dict[str, str]:
    """A row of the table of claims: the sentence, what was found, the verdict, and how many comparisons it rests on."""
    tested = list(parts)
    count = Counter(tested)
    words = ", ".join(f"{count[part]} {part.value}" for part in Part if count[part]) or "nothing to compare"
    return {"claim": claim, "found": found, "verdict": verdict(tested), "tested": f"{len(tested)} compared: {words}"}


def tally(claims: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many sentences got which verdict, those that nobody got left out."""
    count = Counter(claim["verdict"] for claim in claims)
    return {word: count[word] for word in VERDICTS if count[word]}


def in_words(claims: Sequence[Mapping[str, Any]]) -> str:
    """The same as one line: ``7 confirmed, 5 not confirmed, 2 too few runs``."""
    return ", ".join(f"{n} {word}" for word, n in tally(claims).items()) or "none"


#: Names of criteria in ``NAME.json``, and what they say.
_CRITERIA = (
    (r"mdte_lam_(.+)", r"MDTE at λ = \1 as expected"),
    (r"mdte_rises_with_lam", "MDTE rises with λ"),
    (r"return_at_lam_(.+)_above_(.+)", r"return at λ = \1 above \2"),
    (r"pa_return_below_(.+)", r"return of PA below \1"),
    (r"exact_gamma_(.+)", r"loss at discount \1 is that of the formula"),
    (r"printed_gamma_(.+)", r"loss at discount \1 to the printed digit"),
    (r"meta_hint_(\w+)_below_(.+)", r"loss of the vote with hint \1 below \2"),
    (r"(diagonal|full)_(\d+)_adagrad", r"\1 matrix, d = \2: loss of AdaGrad as known"),
    (r"(diagonal|full)_(\d+)_ogd_early", r"\1 matrix, d = \2: early loss of gradient descent as known"),
    (r"(diagonal|full)_(\d+)_ogd", r"\1 matrix, d = \2: loss of gradient descent as known"),
    (r"(diagonal|full)_(\d+)_adagrad_loses_d", r"\1 matrix, d = \2: AdaGrad loses d"),
    (r"(diagonal|full)_(\d+)_descent_above_bound", r"\1 matrix, d = \2: gradient descent loses at least the bound"),
)


def criteria(accepted: Mapping[str, bool]) -> dict[str, bool]:
    """The criteria by which a run is the experiment, in words, and whether each is met."""
    return {_criterion(name): met for name, met in accepted.items() if name != "all"}


def _criterion(name: str) -> str:
    for pattern, words in _CRITERIA:
        if found := re.fullmatch(pattern, name):
            return found.expand(words)
    return name


def all_claims(result: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """The answers of a reproduction, with those of a market that it was also run on."""
    return [*result["claims"], *((result.get("nasdaq") or {}).get("claims", ()))]
