"""What a user knows beside prices, as options, once for every command that runs strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracker_strategies.errors import ParameterError

if TYPE_CHECKING:
    from datafeeds import MarketPanel
    from tracker_strategies.strategies import TrackerStrategy

PANEL = "Known in addition to prices"


def _known(help: str, metavar: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=PANEL, show_default=False)


@dataclass(frozen=True)
class KnownOptions:
    """Weights of the index; money that is paid in and taken out."""

    index_weights: Annotated[
        str | None,
        _known(
            "Weights of the index, as a table of symbol, weight and date: the start, the prior of the ensemble, and what "
            "replicate holds. A row counts from the bar after its date.",
            "FILE",
        ),
    ] = None
    weights_known_from: Annotated[
        str | None,
        _known("For index weights without dates: the first day at whose close they were known. A backtest needs it.", "DATE"),
    ] = None

    flows: Annotated[
        str | None,
        _known(
            "Money paid in (+) and taken out (-), as a table of date and amount: booked with the fills of the first bar that is "
            "not before its date. It is no return.",
            "FILE",
        ),
    ] = None
    contribute: Annotated[
        str | None,
        _known(
            "An amount paid in on the first bar of every week, month, quarter or year after the first; negative: taken out.",
            "AMOUNT/PERIOD",
        ),
    ] = None

    def cash_flows(self) -> dict[str, Any]:
        """The parameter ``cash_flows`` in plain values, nothing where there are none."""
        if self.flows is None and self.contribute is None:
            return {}
        from tracker_strategies.execution.holdings.flows import contribution, flows_of

        found = flows_of(self.flows)
        given = {} if found is None else found.plain()
        if self.contribute is not None:
            amount, period = contribution(self.contribute)
            given["each"] = f"{amount!r}/{period}"
        return {"cash_flows": given}

    def flow_params(self, panel: MarketPanel) -> tuple[dict[str, Any], list[str]]:
        """The same, and which of them come too late for these bars."""
        from tracker_strategies.execution.holdings.flows import flows_of

        given = self.cash_flows()
        found = flows_of(given.get("cash_flows"))
        return given, [] if found is None else found.check(panel.dates[0], panel.dates[-1])

    def check_known(self) -> None:
        """Refuse what can be told without reading a file."""
        if self.contribute is not None:
            from tracker_strategies.execution.holdings.flows import contribution

            contribution(self.contribute)
        if self.weights_known_from is None:
            return
        if self.index_weights is None:
            raise ParameterError(
                f"--weights-known-from {self.weights_known_from} has no effect without --index-weights FILE; add it"
            )
        try:
            date.fromisoformat(self.weights_known_from)
        except ValueError:
            raise ParameterError(
                f"--weights-known-from {self.weights_known_from!r} is not a date; write one such as 2024-01-31"
            ) from None

    def weights_for(
        self, classes: Mapping[str, type[TrackerStrategy]], panel: MarketPanel, *, today: str | None = None
    ) -> tuple[dict[str, dict[str, Any]], Sequence[str]]:
        """The parameter ``index_weights`` of each strategy that has a use for it, by its label, and what a user should know.

        `today` is the day from which weights without dates count, where a command decides for today only.
        """
        if self.index_weights is None:
            return {}, ()
        from tracker_strategies.strategies.index_weights import check_weights, settled_weights

        names = getattr(self, "names", None)  # as the holdings may be spelt, too
        given, notes = settled_weights(self.index_weights, panel.symbols, self.weights_known_from, today=today, spelling=names)
        found, without = {}, {}
        for label, cls in classes.items():
            try:
                check_weights(cls, given, panel.dates)
                found[label] = {"index_weights": given}
            except ParameterError as problem:
                without[label] = problem
        if not found:
            raise next(iter(without.values()))
        return found, [*notes, *(f"{label} runs without --index-weights: {problem}" for label, problem in without.items())]
