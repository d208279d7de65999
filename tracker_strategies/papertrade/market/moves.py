"""Moves of prices that cannot be, or that look like a split."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.errors import BadBarError
from tracker_strategies.papertrade.journal.history import Bars
from tracker_strategies.papertrade.market import corporate_actions as actions
from tracker_strategies.papertrade.market.corporate_actions import Action
from tracker_strategies.papertrade.risk_limits import RiskLimits

FloatArray = NDArray[np.float64]

#: A name that began to trade lately may move by so many times what others may.
_NEWLY_LISTED = 4.0
#: A move that is too large to be believed and so close to a split is likely one; and one that could be believed.
_LIKE_A_SPLIT, _VERY_LIKE_A_SPLIT = 0.02, 0.004


class Before(NamedTuple):
    """What was known before a session.

    Attributes
    ----------
    session : str
        The one before.
    last : (N,) float
        Last prices.
    recent : (N,) bool
        Names whose last price is one to compare with.
    level : (q,) float
        Last levels of the targets.
    listed : (N,) bool
        Names that began to trade lately.
    """

    session: str
    last: FloatArray
    recent: NDArray[np.bool_]
    level: FloatArray
    listed: NDArray[np.bool_]


def check_moves(config: AccountConfig, limits: RiskLimits, bars: Bars, acted: Sequence[Action], before: Before) -> list[str]:
    """Refuse a bar that cannot be one; return what looks like a split, in words."""
    session, close = bars.sessions[0], bars.close[0]
    step = np.ones(len(close))
    for action in acted:
        step[config.symbols.index(action.symbol)] *= action.factor
    with np.errstate(invalid="ignore"):
        moves = np.append(np.where(before.recent, close * step / before.last, np.nan), bars.levels[0] / before.level) - 1.0
    names = (*config.symbols, *config.targets)
    if limits.max_move is not None:
        new = np.append(before.listed, np.zeros(len(before.level), dtype=bool))
        most = np.where(new, _NEWLY_LISTED * limits.max_move, limits.max_move)
        beyond = (moves > most) | (moves < np.where(new, 1.0 / (1.0 + most) - 1.0, -most))
        if beyond.any():
            worst = int(np.nanargmax(np.where(beyond, np.abs(moves), np.nan)))
            split = _like_a_split(moves[worst], _LIKE_A_SPLIT)
            raise BadBarError(
                f"{names[worst]} moved by {moves[worst]:+.0%} from {before.session} to {session}, more than "
                f"max_move={most[worst]:g}{' for a name that is newly listed' if new[worst] else ''}: "
                + (f"a {split} split that is not in the file of actions" if split else "a bad print")
                + ", or a real move? Nothing was ingested. Correct the source, add the split "
                f"({session},{names[worst]},split,NEW SHARES FOR ONE OLD), or, if the move is real, allow it once: "
                "tracker paper step --max-move 10 (this also works while tracker paper watch is waiting; watch "
                "itself has --max-move, too)"
            )
    told = {action.symbol for action in acted}
    return [
        f"{name} moved by {move:+.1%} on {session}, which looks like a {split} split; if it was one, add it to the "
        "file of actions"
        for name, move in zip(config.symbols, moves, strict=False)
        if name not in told and (split := _like_a_split(move, _VERY_LIKE_A_SPLIT))
    ]


def _like_a_split(move: float, within: float) -> str:
    """The split that a move of a price is within so much of, as new shares for old; empty without one."""
    if not (np.isfinite(move) and move > -1.0 and abs(1.0 / (1.0 + move) - 1.0) > actions.SMALLEST_SPLIT / 2.0):
        return ""
    ratio = 1.0 / (1.0 + move)
    near = min(actions.RATIOS, key=lambda known: abs(known / ratio - 1.0))
    if abs(near / ratio - 1.0) > within or abs(near - 1.0) < actions.SMALLEST_SPLIT:
        return ""
    return str(Fraction(near).limit_denominator(50)).replace("/", ":") if near % 1.0 else f"{near:g}:1"
