"""The page of results is what its generator writes, and its summary is what its tables hold."""

import re
from pathlib import Path

import pytest

from benchmarks.runs import _results_page as generator

PAGE = (Path(__file__).resolve().parents[2] / "docs/evidence/results.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d+\.\d+")


def rows():
    """The rows that the first table of figures was made from, to the two decimals that it shows."""
    head, _, *lines = PAGE.partition("## All names")[2].partition("\n\n")[2].partition("\n\n")[0].splitlines()
    _, _, *contenders, _ = (cell.strip() for cell in head.strip("|").split("|"))
    for line in lines:
        market, _, *cells, _ = (cell.strip() for cell in line.strip("|").split("|"))
        for contender, cell in zip(contenders, cells, strict=True):
            if cell:
                error, turnover = map(float, cell.split("/"))
                yield {"market": market, "group": "all names", "contender": contender, "TE bp": error, "turnover %": turnover}


def test_the_page_has_the_words_of_its_generator():
    for text in (generator.HEAD, generator.METHOD, generator.INGREDIENTS, generator.CHOICE):
        assert text in PAGE


def test_the_summary_comes_first_and_is_what_the_table_holds():
    expected, found = generator.summary(list(rows())), PAGE[PAGE.index("## Summary") : PAGE.index("## How it was measured")]
    assert PAGE.index("## Summary") < PAGE.index("## All names")
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", expected).split()
    shown = [float(number) for number in NUMBER.findall(found)]
    assert shown == pytest.approx([float(number) for number in NUMBER.findall(expected)], abs=0.011)  # the table is rounded


def test_the_markets_on_which_something_tracks_closer_are_listed():
    by = {(row["market"], row["contender"]): row["TE bp"] for row in rows()}
    listed = dict(part.split(": ") for part in re.search(r"Lower TE than the ensemble: (.*)\.\n", PAGE)[1].split("; "))
    for (market, contender), error in by.items():
        if error < by[market, "ensemble"]:
            assert contender in listed[market]
