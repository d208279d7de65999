"""The comparison page in the hands of a user: runs are toggled, charts zoomed, the table sorted, and the numbers are right."""

import json

import pytest

from tests.browser.conftest import NASTY
from tracker_strategies.analysis.metrics import METRIC_KEYS

CANVAS = '[data-chart="{}"] canvas'


@pytest.fixture
def opened(written, visit):
    return visit(written.pages["comparison of folders"])


@pytest.fixture
def page(opened):
    yield opened.page
    assert opened.complaints == []


def picture(page, chart="excess"):
    return page.locator(CANVAS.format(chart)).evaluate("canvas => canvas.toDataURL()")


def points(page):
    return page.locator('[data-frontier="turnover"] .point').count()


def column(page, key):
    return [float(v) for v in page.locator(f'#metrics tbody data[data-metric="{key}"]').evaluate_all("e => e.map(d => d.value)")]


def names(page):
    return page.locator("#metrics tbody th span").all_text_contents()


def span(page):
    return page.locator("#span").text_content()


IN_BP = ("te_rms", "te_centred", "mdte", "entry_active_return")
IN_PERCENT = ("tracking_difference", "excess_log_return", "turnover", "entry_turnover")


def test_the_numbers_are_those_of_metrics_json(page, written):
    rows = page.locator("#metrics tbody tr")
    assert rows.count() == len(written.runs) == 4
    for i, name in enumerate(names(page)):
        expected = json.loads((written.runs[name] / "metrics.json").read_text())
        cells = rows.nth(i).locator("data").evaluate_all("e => e.map(d => [d.dataset.metric, d.value, d.textContent])")
        assert sorted(key for key, *_ in cells) == sorted(METRIC_KEYS)
        for key, exact, text in cells:
            assert float(exact) == expected[key]
            shown = float("".join(c for c in text.replace("\u2212", "-") if c in "0123456789.+-"))
            unit = 1e4 if key in IN_BP else 100.0 if key in IN_PERCENT else 1.0
            assert shown == pytest.approx(unit * expected[key], rel=6e-3, abs=0.51 if key == "final_value" else 1e-9)


def values(page):
    said = page.locator(".chip output").all_text_contents()
    return [float(text.replace("\u2212", "-").rstrip("\u202f%")) for text in said]


def test_curves_end_at_the_excess_of_metrics_json(page, written):
    told = [json.loads((written.runs[name] / "metrics.json").read_text()) for name in names(page)]
    assert values(page) == pytest.approx([100 * m["excess_log_return"] for m in told], abs=0.0051)


def test_pointing_at_a_chart_tells_the_values_of_that_bar_and_moves_nothing(page):
    from playwright.sync_api import expect  # here, because it is not needed where these tests are skipped

    over, last = page.locator('[data-chart="growth"] .u-over'), values(page)
    over.scroll_into_view_if_needed()
    place = over.bounding_box()
    over.hover(position={"x": 0.5 * place["width"], "y": 20})
    expect(page.locator("#span")).not_to_contain_text("to")
    assert all(30.0 < value < 300.0 for value in values(page))
    assert over.bounding_box() == place
    page.mouse.move(0, 0)
    assert values(page) == last


def test_toggling_a_run_changes_the_charts_and_toggling_it_again_brings_it_back(page):
    charts = ("excess", "error", "drawdown", "growth")
    before = [picture(page, chart) for chart in charts]
    box = page.locator(".chip input").nth(1)
    box.click()
    page.mouse.move(0, 0)
    after = [picture(page, chart) for chart in charts]
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert points(page) == 3
    assert page.locator("#metrics tbody tr.off").count() == 1
    box.press("Space")
    assert [picture(page, chart) for chart in charts] == before
    page.get_by_role("button", name="None").click()
    assert points(page) == 0
    page.get_by_role("button", name="All runs").click()
    assert points(page) == 4
    assert [picture(page, chart) for chart in charts] == before


@pytest.mark.parametrize("key", ["te_rms", "turnover", "excess_log_return"])
def test_a_heading_sorts_the_table_by_mouse_and_by_keyboard(page, key):
    at = page.locator("#metrics tbody tr").first.locator("data").evaluate_all("e => e.map(d => d.dataset.metric)").index(key)
    head = page.locator("#metrics thead th").nth(1 + at)
    given = column(page, key)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, key) == sorted(given)
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, key) == sorted(given, reverse=True)
    page.locator("#metrics thead button").first.click()
    assert names(page) == sorted(names(page), key=str.lower)
    assert head.get_attribute("aria-sort") == "none"


def test_charts_are_zoomed_by_buttons_and_by_dragging_all_together(page):
    whole, pictures = span(page), [picture(page, chart) for chart in ("excess", "growth")]
    page.get_by_role("button", name="Zoom in").click()
    near = span(page)
    assert near != whole
    assert all(picture(page, chart) != before for chart, before in zip(("excess", "growth"), pictures, strict=True))
    page.get_by_role("button", name="Later").press("Enter")
    assert span(page) > near
    page.get_by_role("button", name="Whole period").click()
    assert span(page) == whole
    page.locator('[data-chart="growth"]').scroll_into_view_if_needed()
    box = page.locator('[data-chart="growth"] .u-over').bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 40, steps=3)
    page.mouse.up()
    page.mouse.move(0, 0)
    assert picture(page, "excess") != pictures[0]
    assert whole < span(page)
    page.locator('[data-chart="growth"] .u-over').dblclick()
    page.mouse.move(0, 0)
    assert span(page) == whole
    assert [picture(page, chart) for chart in ("excess", "growth")] == pictures


def test_a_hostile_name_is_text_and_nothing_else(page, opened):
    assert NASTY in names(page)
    assert NASTY in page.locator(".chip span").all_text_contents()
    assert any(NASTY in (label or "") for label in page.locator(".point").evaluate_all("e => e.map(c => c.ariaLabel)"))
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert opened.complaints == []


def test_another_market_is_chosen_from_a_list(written, visit):
    opened = visit(written.pages["comparison of a leaderboard"])
    page = opened.page
    assert page.locator("#field option").all_text_contents() == ["market", "second"]
    before, first = picture(page), page.locator("#metrics tbody tr:visible data").first.get_attribute("value")
    page.select_option("#field", "1")
    assert picture(page) != before
    assert page.locator("#metrics tbody tr:visible data").first.get_attribute("value") != first
    assert page.locator("#metrics tbody tr:visible").count() == 2
    assert opened.complaints == []


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out_from_the_card(written, visit, scheme):
    page = visit(written.pages["comparison of folders"], scheme=scheme).page

    def colour(name):
        return page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()")

    card = luminance(colour("card"))
    for name, least in [("ink", 7.0), ("soft", 4.5), *((f"run{i}", 3.0) for i in range(10))]:
        high, low = sorted((luminance(colour(name)), card), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= least, f"--{name}"
