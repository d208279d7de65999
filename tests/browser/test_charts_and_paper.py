"""Charts can be read without their colours, no name lies on another, and on paper the first part is complete on two sheets."""

import re
import shutil
import subprocess

import pytest

from tests.browser.conftest import tracker
from tests.markets import random_panel
from tracker_strategies.analysis.pages.comparison_page import comparison
from tracker_strategies.research import replay

DRAWN = ("tear sheet", "leaderboard", "sweep", "tuning", "capacity", "paper")
#: Words that the first part holds: figures, growth of the difference, years, shares of the error, limits.
FIRST = (
    "TE, RMS",
    "Excess return",
    "Calendar years",
    "Years up to the last bar",
    "By cause",
    "Limits and goals",
    "Requested and delivered",
)

TEXTS = """figure => [...figure.querySelectorAll(":scope > svg text")].map(t => {
    const b = t.getBoundingClientRect();
    return [t.textContent, b.left, b.top, b.right, b.bottom];
})"""
#: Beyond the card, or beyond a drawing that cuts off what leaves it.
OUTSIDE = """figure => {
    const drawing = figure.querySelector(":scope > svg"), open = getComputedStyle(drawing).overflow == "visible";
    const box = (open ? figure : drawing).getBoundingClientRect();
    return [...figure.querySelectorAll(":scope > svg text")]
        .filter(t => { const b = t.getBoundingClientRect(); return b.left < box.left || b.right > box.right; })
        .map(t => t.textContent);
}"""


def on_each_other(texts):
    """Pairs of texts whose boxes share more than a sliver: a box is as high as a line, its letters are not."""
    found = []
    for i, (one, left, top, right, bottom) in enumerate(texts):
        for other, l, t, r, b in texts[i + 1 :]:
            wide, high = min(right, r) - max(left, l), min(bottom, b) - max(top, t)
            if wide > 1.0 and high > 0.35 * min(bottom - top, b - t):
                found.append((one, other))
    return found


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", DRAWN)
def test_no_name_in_a_chart_lies_on_another_or_leaves_its_card(name, width, written, visit):
    page = visit(written.pages[name], width=width).page
    figures = [f for f in page.locator("figure.chart").all() if f.is_visible() and f.locator("xpath=./*[name()='svg']").count()]
    assert figures
    for figure in figures:
        title = figure.locator("h3").text_content()
        assert on_each_other(figure.evaluate(TEXTS)) == [], title
        assert figure.evaluate(OUTSIDE) == [], title


@pytest.mark.parametrize("name", DRAWN)
def test_axes_have_titles_and_lines_differ_by_more_than_colour(name, written, visit):
    page = visit(written.pages[name], width=1280).page
    for figure in page.locator("figure.chart").all():
        title = figure.locator("h3").text_content()
        assert figure.locator("svg .axis-title").count() >= 2, title
        lines = figure.locator(".legend path[stroke]").evaluate_all("e => e.map(p => p.getAttribute('stroke-dasharray') || '')")
        assert len(lines) == len(set(lines)), title
        if len(lines) > 1 and not figure.locator(".point-label").count():
            upright = figure.locator(".legend li", has_text="Capacity, ").count()  # a size of the account: ends at no side
            assert figure.locator(".end-label").count() >= len(lines) - upright, title


def test_frontiers_of_a_comparison_have_titles_shapes_and_names_apart(written, visit):
    for width in (1280, 390):
        page = visit(written.pages["comparison of folders"], width=width).page
        for figure in page.locator("figure[data-frontier]").all():
            assert figure.locator(".axis-title").count() == 2
            assert on_each_other(figure.evaluate(TEXTS)) == []
            shapes = figure.locator(".point").evaluate_all("e => e.map(p => p.getAttribute('d'))")
            assert len(set(shapes)) == len(shapes) == 4


@pytest.mark.parametrize("name", ["comparison of strategies", "comparison of a sweep"])
def test_the_line_of_the_best_trade_offs_goes_through_no_name(name, written, visit):
    page = visit(written.pages[name], width=1280).page
    crossed = """figure => {
        const line = figure.querySelector(".edge"), at = line.getScreenCTM(), n = line.getTotalLength();
        const points = n ? Array.from({length: 400}, (_, k) => line.getPointAtLength(n * k / 399).matrixTransform(at)) : [];
        return [...figure.querySelectorAll(".point-label")].filter(t => {
            const b = t.getBoundingClientRect();
            return points.some(p => p.x > b.left && p.x < b.right && p.y > b.top + 2 && p.y < b.bottom - 2);
        }).map(t => t.textContent);
    }"""
    figures = page.locator("figure[data-frontier]").all()
    assert len(figures) == 2
    assert [figure.evaluate(crossed) for figure in figures] == [[], []]


def test_a_chart_that_is_alone_is_no_larger_than_two_beside_each_other(written, visit):
    page = visit(written.pages["tuning"], width=1280).page
    assert page.locator("figure.chart").count() == 1
    assert page.locator("figure.chart").bounding_box()["width"] < 800


def test_a_leaderboard_of_many_strategies_names_them_without_overlap(written, visit, tmp_path):
    market = written.pages["leaderboard"].parents[1] / "market.csv"
    names = "ensemble,least-squares,pa,apas,adagrad,discounted-vaw,sparse-pls,rls,equal-weight,buy-and-hold"
    tracker("leaderboard", "--data", market, "--strategies", names, "--fill", "next_open", "--out", tmp_path / "board")
    for width in (1280, 390):
        page = visit(tmp_path / "board" / "leaderboard.html", width=width).page
        for figure in page.locator("figure.chart").all():
            assert on_each_other(figure.evaluate(TEXTS)) == []
            told = {*figure.locator(".point-label").all_text_contents()}
            left = figure.locator("figcaption p").all_text_contents()
            assert {"ensemble", "pa", "equal-weight", "buy-and-hold"} <= told | set(re.findall(r"[\w-]+", " ".join(left)))
            assert len(told) >= 4


@pytest.fixture(scope="module")
def sheets(written, browser, tmp_path_factory):
    """The texts of the sheets of the tear sheet on paper, with how far down each is filled, from 0 to 1."""
    return printed(written.pages["tear sheet"], browser, tmp_path_factory.mktemp("paper"))


def printed(path, browser, folder):
    """The same of any page."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed: apt-get install poppler-utils")
    made = folder / "sheet.pdf"
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.pdf(path=str(made), prefer_css_page_size=True, print_background=True)
    context.close()
    boxes = subprocess.run(["pdftotext", "-bbox", made, "-"], capture_output=True, text=True, check=True).stdout
    words = subprocess.run(["pdftotext", "-layout", made, "-"], capture_output=True, text=True, check=True).stdout.split("\f")
    found = []
    for sheet, text in zip(boxes.split("<page ")[1:], words, strict=False):
        height = float(re.search(r'height="([\d.]+)"', sheet)[1])
        found.append((text, max(map(float, re.findall(r'yMax="([\d.]+)"', sheet))) / height))
    return found


def test_the_first_part_is_complete_on_the_first_two_sheets(sheets):
    both = "".join(text for text, _ in sheets[:2])
    assert [words for words in FIRST if words not in both] == []
    assert both.index("TE, RMS") < both.index("Calendar years") < both.index("By cause") < both.index("Limits and goals")
    assert "How to read these figures" not in both


def test_no_sheet_but_the_last_is_a_quarter_empty(sheets):
    assert 4 <= len(sheets) <= 9
    assert [round(filled, 2) for _, filled in sheets[:-1] if filled < 0.75] == []


@pytest.mark.parametrize("name", [*DRAWN[1:], "comparison of strategies"])
def test_other_pages_have_no_quarter_empty_sheet_but_the_last_either(name, written, browser, tmp_path):
    found = printed(written.pages[name], browser, tmp_path)
    inside = [(297.0 * filled - 12.0) / 273.0 for _, filled in found[:-1]]  # between the margins of A4
    assert [round(filled, 2) for filled in inside if filled < 0.74] == []


def test_the_head_of_the_performance_part_is_not_parted_from_its_figures(sheets):
    (own,) = [text for text, _ in sheets if "Portfolio is " in text]
    assert "Cumulative Return" in own


def test_all_charts_of_the_performance_part_fit_one_sheet(written, visit):
    page = visit(written.pages["tear sheet"], width=703).page
    page.emulate_media(media="print")
    figures = page.locator(".performance figure.chart")
    assert figures.count() >= 8
    boxes = [figure.bounding_box() for figure in figures.all()]
    height = max(b["y"] + b["height"] for b in boxes) - min(b["y"] for b in boxes)
    assert height < 1032  # A4 less its margins


def test_names_at_the_ends_of_candidates_tell_them_apart(visit, tmp_path):
    panel = random_panel(120, 5, seed=3)
    names = [f"apas eps={eps:g}, lam={lam:g}" for eps in (1e-4, 1e-3) for lam in (1e-3, 1e-2)]
    runs = {name: replay(panel, "pa", {"eps": 1e-5 * 4**k}) for k, name in enumerate(names)}
    page = visit(comparison(runs, tmp_path / "candidates.html"), width=1280).page
    drawn = page.locator(".uplot").evaluate_all("e => e.map(u => JSON.parse(u.dataset.names))")
    assert len(drawn) == 4
    for told in drawn:
        assert {"apas 0.0001 0.001", "apas 0.0001 0.01", "apas 0.001 0.001", "apas 0.001 0.01"} <= set(told)


def test_all_runs_are_named_on_paper(written, visit):
    page = visit(written.pages["comparison of strategies"], width=703).page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.chips')).maxHeight") == "none"


@pytest.mark.parametrize("name", ["sweep", "tuning", "tear sheet"])
def test_tiles_fill_the_width_of_the_paper(name, written, visit):
    page = visit(written.pages[name], width=703).page
    page.emulate_media(media="print")
    ends = page.locator(".tiles").first.locator(".tile").evaluate_all("e => e.map(t => t.getBoundingClientRect().right)")
    assert max(ends) > 690


@pytest.mark.parametrize("name", ["leaderboard", "sweep"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_line_of_a_scatter_chart_goes_through_a_name(name, width, written, visit):
    page = visit(written.pages[name], width=width).page
    crossed = """figure => {
        const names = [...figure.querySelectorAll(".point-label")].map(t => [t.textContent, t.getBoundingClientRect()]);
        const lines = [...figure.querySelectorAll(":scope > svg path")].filter(
            p => /stroke: var\\(--soft,/.test(p.getAttribute("style")) && !p.closest("defs") && p.getTotalLength() > 4);
        const hit = [];
        for (const line of lines) {
            const at = line.getScreenCTM(), n = line.getTotalLength();
            for (let k = 0; k < 400; k++) {
                const p = line.getPointAtLength(n * k / 399).matrixTransform(at);
                for (const [name, b] of names) {
                    if (p.x > b.left + 1 && p.x < b.right - 1 && p.y > b.top + 3 && p.y < b.bottom - 3) hit.push(name);
                }
            }
        }
        return [lines.length, [...new Set(hit)]];
    }"""
    found = [figure.evaluate(crossed) for figure in page.locator("figure.chart").all() if figure.locator(".point-label").count()]
    assert any(lines for lines, _ in found)
    assert [names for _, names in found if names] == []


def test_bars_in_tables_keep_a_length_on_a_phone(written, visit):
    page = visit(written.pages["tear sheet"], width=390).page
    cells = page.locator("td.bar").evaluate_all("e => e.map(c => c.offsetWidth)")
    assert len(cells) > 10
    assert min(cells) >= 60


def test_no_border_is_cut_off_at_the_side_of_the_paper(written, visit):
    page = visit(written.pages["tear sheet"], width=703).page  # A4 less its margins, at 96 dots per inch
    page.emulate_media(media="print")
    over = page.evaluate(
        "[...document.querySelectorAll('.tile, .card')].filter(e => { const b = e.getBoundingClientRect();"
        " return b.width && (b.left < 0.5 || b.right > innerWidth - 0.5); }).map(e => e.textContent.slice(0, 40))"
    )
    assert over == []
