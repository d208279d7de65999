"""The papers whose experiments can be run again, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from tracker_strategies.errors import ParameterError
from tracker_strategies.research.reproductions.verdicts import CONFIRMED, NOT_CONFIRMED, in_words

Tick = Callable[[int, int], None]
Found = tuple[Path, Mapping[str, Any]]


def apas(folder: Path, *, sets: int, runs: int, files: tuple[Path, ...], seed: int, tick: Tick) -> Found:
    """Adaptive passive-aggressive tracking with side information."""
    from tracker_strategies.research.reproductions.apas.paper import reproduce_apas

    if sets < 2:
        raise ParameterError(f"sets={sets} must be at least 2, for a standard error")
    found = reproduce_apas(folder, n_sets=sets, seed=seed, nasdaq=files[0] if files else None, progress=tick)
    return folder / "apas.html", found


def adagrad(folder: Path, *, sets: int, runs: int, files: tuple[Path, ...], seed: int, tick: Tick) -> Found:
    """The motivating examples of AdaGrad."""
    from tracker_strategies.research.reproductions.adagrad import reproduce_adagrad
    from tracker_strategies.research.reproductions.page import write_paper

    found = reproduce_adagrad(seed=seed)
    charts = {f"Gradient descent, d = {int(d):,}: cumulated loss by cycle": {"loss": line} for d, line in found["curves"].items()}
    result = {**found, "tables": {"Cumulated losses": found["table"]}, "charts": charts}
    return write_paper(result, folder, "adagrad", "Adaptive subgradient methods"), result


def vaw(folder: Path, *, sets: int, runs: int, files: tuple[Path, ...], seed: int, tick: Tick) -> Found:
    """Discounted VAW on targets that switch."""
    from tracker_strategies.research.reproductions.page import write_paper
    from tracker_strategies.research.reproductions.vaw import reproduce_vaw

    found = reproduce_vaw(seed=seed)
    charts = {}
    for stream, lines in found["curves"].items():
        shown = {
            name: line["regret"]
            for name, line in lines.items()
            if name in ("gamma 1", "gamma 0.99", "gamma 0.9") or "meta" in name
        }
        charts[f"Regret, {stream}"] = shown
        charts[f"Regret and its bound, {stream}, gamma 0.95"] = lines["gamma 0.95"]
    tables = {"Total losses": found["table"], "Theorem 3.1, term by term": found["split"]}
    result = {**found, "tables": tables, "charts": charts}
    return write_paper(result, folder, "vaw", "Online regression in dynamic environments via discounting"), result


def ispls(folder: Path, *, sets: int, runs: int, files: tuple[Path, ...], seed: int, tick: Tick) -> Found:
    """Incremental sparse PLS: simulations, and two indices at once."""
    from tracker_strategies.research.reproductions.ispls.paper import reproduce_ispls
    from tracker_strategies.research.reproductions.page import write_paper

    result = reproduce_ispls(runs=runs, seed=seed, data=files, progress=tick)
    return write_paper(result, folder, "ispls", "Sparse partial least squares for on-line variable selection"), result


def show_answers(found: Mapping[str, Any], console: Console) -> None:
    """Print each sentence of the paper with its verdict, how many got which, and whether the run is the experiment at all."""
    claims = [*found["claims"], *((found.get("nasdaq") or {}).get("claims", ()))]
    colours = {CONFIRMED: "green", NOT_CONFIRMED: "red"}
    for claim in claims:
        colour = colours.get(claim["verdict"], "yellow")
        console.print(f"[{colour}]{claim['verdict']:>14}[/]  {escape(claim['claim'])} [dim]({claim['tested']})[/]")
    console.print(f"claims of the paper: {in_words(claims)}")
    criteria = {name: kept for name, kept in found["accepted"].items() if name != "all"}
    missed = [name for name, kept in criteria.items() if not kept]
    words = f"; does not hold: {', '.join(missed)}" if missed else ""
    console.print(f"criteria of the experiment: {len(criteria) - len(missed)} of {len(criteria)} hold{escape(words)}")


PAPERS: dict[str, Callable[..., Found]] = {"apas": apas, "adagrad": adagrad, "vaw": vaw, "ispls": ispls}
