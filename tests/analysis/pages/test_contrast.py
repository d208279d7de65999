"""Every mark stands out from the card it is drawn on, by at least 3:1, on light pages and on dark ones."""

import re

import pytest

from tracker_strategies.analysis.pages.charts import INDEX, LOSS, OTHERS, PORTFOLIO, SOFT, STACK, VARIABLES
from tracker_strategies.analysis.pages.page import source

#: What is no mark: grounds, borders and grid lines.
GROUNDS = {"paper", "card", "rule", "edge"}


def colours(scheme):
    """The variables of both style sheets, by name."""
    found = {}
    for sheet in ("page.css", "comparison.css"):
        light, dark = re.findall(r":root(?::not\(\.print\))? \{(.*?)\}", source(sheet), re.S)[:2]
        found |= dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light if scheme == "light" else dark))
    return found


def luminance(colour):
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_mark_stands_out_from_its_card(scheme):
    known = colours(scheme)
    marks = {name: contrast(colour, known["card"]) for name, colour in known.items() if name not in GROUNDS}
    assert {name: round(ratio, 2) for name, ratio in marks.items() if ratio < 3.0} == {}


def test_light_and_dark_have_the_same_variables_and_charts_draw_with_nothing_else():
    assert colours("light").keys() == colours("dark").keys()
    drawn = {PORTFOLIO, INDEX, LOSS, SOFT, *OTHERS, *STACK}
    assert drawn <= VARIABLES.keys()
    assert {VARIABLES[colour] for colour in drawn} <= colours("light").keys()
    assert all(colours("light")[name] == colour for colour, name in VARIABLES.items())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_the_deepest_shade_of_a_month(scheme):
    known, most = colours(scheme), 0.45

    def mixed(colour):
        parts = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (colour, known["card"])]
        return "#" + "".join(f"{round(most * a + (1 - most) * b):02x}" for a, b in zip(*parts, strict=True))

    assert min(contrast(mixed(known[name]), known["ink"]) for name in ("portfolio", "loss")) >= 4.5
