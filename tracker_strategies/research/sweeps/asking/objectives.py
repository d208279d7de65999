"""What a sweep goes by: figures of ``metrics.json`` that are means over bars, so that they can be resampled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Objective:
    """A figure and what it is made of.

    Parameters
    ----------
    name : str
        Key of ``metrics.json``.
    path : {"active", "excess"}
        Column of the rows that holds it bar by bar: the active return e, or the log return over that of the index.
    sign : {-1, 1}
        1 if more is better.
    words, short : str
        For people, and for people with narrow terminals.
    """

    name: str
    path: str
    sign: int
    words: str
    short: str

    def better(self, value: float) -> float:
        """To be sorted by: the smallest is the best."""
        return -self.sign * value


OBJECTIVES = {
    o.name: o
    for o in (
        Objective("te_rms", "active", -1, "tracking error, RMS", "TE"),
        Objective("te_centred", "active", -1, "tracking error, centred", "TE ctr"),
        Objective("excess_log_return", "excess", 1, "log return over the index", "excess"),
    )
}


def units(objective: Objective) -> tuple[float, str]:
    """Factor and words: tracking errors in basis points a bar, returns in per cent."""
    return (1e4, "bp a bar") if objective.path == "active" else (100.0, "per cent")
