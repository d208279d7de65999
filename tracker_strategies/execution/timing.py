"""At which price an order decided at the close of bar t fills."""

from __future__ import annotations

from enum import StrEnum

from tracker_strategies.errors import ParameterError


class FillMode(StrEnum):
    """Three ways to fill, from the one without look-ahead to the most optimistic.

    next_open
        Shares are fixed at the close of bar t, the orders fill at the open of bar t+1, whatever it is. If the market opens higher
        and the cash is no longer enough, all buys shrink by the same factor. The default.
    open
        Cheat-on-open: the weights are fixed at the close of bar t, but the shares are computed from the open of bar t+1, at which
        they fill. It assumes that the opening price is known a moment before it trades.
    close
        The orders fill at the close of bar t itself: the very prices from which the weights were learned. This is what the papers
        assume. It is deliberate look-ahead; use it to compare with them, not to judge what can be earned.
    """

    NEXT_OPEN = "next_open"
    OPEN = "open"
    CLOSE = "close"

    def in_words(self, *, opens: bool | None = True) -> str:
        """When orders fill, for a caption: "fills at the next open"; `opens` says whether the data have them, None if unknown."""
        if opens is None and self is not FillMode.CLOSE:
            return f"{self.in_words()} (close, where prices have no opens)"
        if not opens and self is not FillMode.CLOSE:
            return f"fills at the {'next ' if self is FillMode.NEXT_OPEN else ''}close (the prices have no opens)"
        return f"fills at the {self.value.replace('_', ' ')}"

    @classmethod
    def parse(cls, name: str) -> FillMode:
        """The mode of that name."""
        try:
            return cls(name)
        except ValueError:
            raise ParameterError(
                f"fill={name!r} is unknown; choose next_open (no look-ahead), open or close (what the papers assume)"
            ) from None
