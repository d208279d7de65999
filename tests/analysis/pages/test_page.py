"""All pages begin alike: one head, and a policy that forbids what it does not name."""

from pathlib import Path

import pytest

import tracker_strategies
from tracker_strategies.analysis.pages.page import NO_SCRIPTS, fill_page, template

TEMPLATES = sorted(Path(tracker_strategies.__file__).parent.rglob("templates/*.html"))
PAGES = [path for path in TEMPLATES if "</body>" in path.read_text(encoding="utf-8")]


def test_every_template_of_a_page_is_found():
    assert {path.stem for path in PAGES} == {"tearsheet", "comparison", "leaderboard", "sweep", "paper", "apas"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_page_has_a_head_of_its_own(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("$head<title>")
    assert "<meta" not in text


def test_a_page_forbids_scripts_and_requests_unless_it_names_them():
    parts = {"eyebrow": "Sweep", "title": "T", "lead": "", "body": "", "method": ""}
    for policy in (NO_SCRIPTS, "script-src 'sha256-x'"):
        page = fill_page("sweep.html", "tracker_strategies.research.sweeps.judging", policy=policy, **parts)
        assert page.startswith("<!DOCTYPE html>")
        assert f"default-src 'none'; {policy}; base-uri 'none'; form-action 'none'\">" in page
        assert template("tearsheet.css") in page
        assert "$" not in page.replace(template("tearsheet.css"), "")
    assert "script" not in NO_SCRIPTS
