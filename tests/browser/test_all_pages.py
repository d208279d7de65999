"""Every page opens without a network, asks for nothing, complains of nothing, and fits phones, desks and walls."""

import pytest

PAGES = (
    "comparison of folders",
    "comparison of strategies",
    "tear sheet",
    "leaderboard",
    "comparison of a leaderboard",
    "sweep",
    "comparison of a sweep",
    "tuning",
    "capacity",
    "paper",
)


@pytest.mark.parametrize("name", PAGES)
def test_it_opens_offline_and_fits_every_width_in_light_and_dark(name, written, visit):
    path = written.pages[name]
    opened = visit(path, width=360)
    page = opened.page
    for width in (360, 1024, 2560, *((320, 3840) if name == "tear sheet" else ())):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than {width} px"
    papers = []
    for options in ({"color_scheme": "light"}, {"color_scheme": "dark"}, {"media": "print"}):
        page.emulate_media(**options)
        papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(245, 246, 248)", "rgb(14, 19, 26)", "rgb(255, 255, 255)"]
    assert page.locator("h1").is_visible()
    assert opened.requests == [path.as_uri()]
    assert opened.complaints == []


SAID = {
    "comparison of folders": ("Which is better, and is it real", "Verdict"),
    "comparison of strategies": ("Which is better, and is it real", "reference"),
    "tear sheet": (
        "Calendar years",
        "Years up to the last bar",
        "Active return by month",
        "95\u202f% interval",
        "Beta to the index",
        "(two-way)",
        "Holding period",
        "Where the error comes from",
        "Limits and goals",
    ),
    "leaderboard": ("verdict", "Trackers", "Rivals and baselines"),
    "comparison of a leaderboard": ("Which is better, and is it real",),
    "sweep": ("Excess log return, % per year", "cannot be distinguished from the best", "Baselines"),
    "comparison of a sweep": ("Candidates on the same bars",),
    "tuning": ("What was chosen", "Excess log return in training, %", "Turnover, % per bar", "95\u202f% interval"),
    "capacity": ("Max participation 0.1, impact sqrt, fill next open", "Unfilled, %"),
    "paper": ("Claims of the paper", "Criteria of the experiment", "Criterion", "Verdict", "confirmed"),
}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_it_says_what_it_is_for_on_a_desk_and_on_a_phone(name, width, written, visit):
    opened = visit(written.pages[name], width=width, scheme="dark" if width == 390 else "light")
    text = opened.page.evaluate("document.body.innerText")
    assert [words for words in SAID[name] if words not in text] == []
    assert "_" not in (text if name in ("paper", "capacity") else "")
    assert opened.complaints == []


def test_jump_links_lead_to_parts_that_are_seen(written, visit):
    opened = visit(written.pages["tear sheet"], width=390)
    links = opened.page.locator("nav.jump a")
    assert links.count() >= 6
    for i in range(links.count()):
        place = links.nth(i).get_attribute("href")
        links.nth(i).click()
        assert opened.page.locator(place).is_visible()
        assert abs(opened.page.locator(place).bounding_box()["y"]) < 800


def test_months_are_coloured_and_bars_are_drawn(written, visit):
    page = visit(written.pages["tear sheet"], width=1280).page
    shades = page.evaluate("[...document.querySelectorAll('td.above, td.below')].map(c => getComputedStyle(c).backgroundColor)")
    assert len(set(shades)) > 3
    bars = page.evaluate(
        "[...document.querySelectorAll('#attribution ~ section td.bar i, #names ~ section td.bar i')].map(b => b.offsetWidth)"
    )
    assert len(bars) > 6
    assert max(bars) > 10 * min(bars)


@pytest.mark.parametrize("name", ["leaderboard", "sweep"])
def test_the_comparison_is_one_click_away(name, written, visit):
    opened = visit(written.pages[name])
    opened.page.click('a[href="comparison.html"]')
    assert opened.page.url == written.pages[f"comparison of a {name}"].as_uri()
    assert opened.page.locator("html[data-ready]").count() == 1
    assert opened.complaints == []


def test_a_policy_stops_what_a_page_did_not_bring(written, visit):
    for name in ("comparison of folders", "tear sheet"):
        opened = visit(written.pages[name])
        opened.page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.foreign = true";
                const image = document.createElement("img");
                image.src = "http://localhost:9/x.png";
                document.body.append(script, image);
            }"""
        )
        assert opened.page.evaluate("window.foreign") is None
        opened.page.wait_for_timeout(100)
        assert opened.failed == ["csp"]
        assert len([said for said in opened.complaints if "Content Security Policy" in said]) == 2
