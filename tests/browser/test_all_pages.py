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
