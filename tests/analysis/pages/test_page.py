"""All pages begin alike: one head, a policy that forbids what it does not name, and names that are text on every one of them."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import tracker_strategies
from tests.analysis.pages.test_tear_sheet import run
from tests.markets import random_panel
from tracker_strategies.analysis.pages.comparison_page import comparison
from tracker_strategies.analysis.pages.page import render, source
from tracker_strategies.analysis.pages.tear_sheet import tearsheet
from tracker_strategies.papertrade.views.report import PaperReport, write_report
from tracker_strategies.research.leaderboard.page import leaderboard_page
from tracker_strategies.research.reproductions.apas import tables as apas
from tracker_strategies.research.reproductions.page import Section, paper_page
from tracker_strategies.research.sweeps import Space, Sweep, Tuning, WalkForward, run_sweep, run_tuning, write_tuning
from tracker_strategies.research.sweeps import write_report as write_sweep

ROOT = Path(tracker_strategies.__file__).parent
TEMPLATES = ROOT / "analysis" / "pages" / "templates"
PAGES = sorted(path for path in TEMPLATES.glob("*.html") if "{% extends" in path.read_text(encoding="utf-8"))
#: As hostile as a name can be: ends attributes, elements and scripts, and is a template of two kinds.
NASTY = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\" ' & $title {{ 7 * 7 }} {% raw %}"


def test_all_templates_lie_in_one_place_and_every_page_extends_the_base():
    assert {path.parent for path in ROOT.rglob("templates/*")} == {TEMPLATES}
    assert {path.stem for path in PAGES} == {
        "tearsheet",
        "comparison",
        "leaderboard",
        "judged",
        "sweep",
        "tune",
        "paper",
        "capacity",
    }
    for path in PAGES:
        assert "<meta" not in path.read_text(encoding="utf-8")


def test_only_our_own_styles_and_scripts_are_put_in_as_they_are():
    text = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.html"))
    assert sorted(re.findall(r"\{\{ ?(.*?) ?\| ?safe", text)) == ["script", 'source("page.css")', "style"]
    assert "autoescape" not in text


def test_no_page_is_put_together_by_hand():
    """Tags in strings of Python; QuantStats' own report, which is markup already, is searched for some."""
    for path in sorted(ROOT.rglob("*.py")):
        text = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
        if path.name not in ("quantstats_page.py", "quantstats_bars.py", "quantstats_corrections.py", "charts.py"):
            assert not re.search(r"</(?:t[dhr]|p|h\d|section|table|div|li|span|small|a|b)>", text), path
        assert "html.escape" not in text, path


def test_a_page_forbids_scripts_and_requests_unless_it_names_them():
    page = render("sweep.html", title="T", lead="", comparison=False, sections=[], draws=100)
    assert page.startswith("<!DOCTYPE html>")
    allowed = "style-src 'unsafe-inline'; img-src data:; font-src data:"
    assert f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'\">" in page
    assert source("page.css") in page


def test_a_value_that_nobody_gave_is_an_error():
    with pytest.raises(UndefinedError, match="lead"):
        render("sweep.html", title="T", comparison=False, sections=[], draws=100)


# ------------------------------------------------------------------ hostile names


class Elements(HTMLParser):
    """Tags with their attributes, and all text but that of styles and scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.said, self._inside = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.said.append(data)


def harmless(page, scripts=0):
    found = Elements(page)
    names = [tag for tag, _ in found.tags]
    assert names.count("script") == scripts
    assert "img" not in names
    assert not [attrs for _, attrs in found.tags if any(name.startswith("on") for name in attrs)]
    assert NASTY in "".join(found.said), "the name is not shown as it is"
    assert "49" not in re.findall(r"\$title (.*?) \{%", page)


def hostile(seed=1):
    record = run(seed=seed, bars=60, names=4, strategy=NASTY, targets=(NASTY, "other"))
    return replace(record, symbols=(NASTY, *record.symbols[1:]), params={NASTY: NASTY}, sectors={NASTY: NASTY})


def test_a_hostile_name_is_text_on_tear_sheets_and_comparisons(tmp_path):
    sheet = tearsheet(hostile(), tmp_path / "sheet.html", title=NASTY, baselines=[hostile(2)])
    harmless(sheet.read_text(encoding="utf-8"))
    page = comparison({NASTY: hostile(), "b": hostile(2)}, tmp_path / "two.html", title=NASTY, lead=NASTY)
    harmless(page.read_text(encoding="utf-8"), scripts=2)


def test_a_hostile_name_is_text_in_the_report_of_a_paper_account(tmp_path):
    money = ("shortfall", "shortfall_bps", "fees", "traded", "missed", "missed_orders", "cut", "cut_orders")
    gap = dict.fromkeys((*money, "missed_sessions", "value_gap", "weights_gap", "divergences"), 0.0)
    written, _ = write_report(PaperReport(hostile(), hostile(2), gap), tmp_path)
    harmless(written[1].read_text(encoding="utf-8"))


def test_a_hostile_name_is_text_on_leaderboards():
    figures = {"te_rms": 1e-3, "turnover": 0.1, "tracking_difference": 0.1, "n_holdings": 3.0, "ms_per_bar": 1.0}
    row = {"market": NASTY, "strategy": NASTY, "group": "strategies", "error": "", **figures}
    row |= {f"net_excess_{cost}": 0.01 for cost in (0, 5, 10)}
    settings = {"fill": "next_open", "cost_bps": 0.0, "eval_from": NASTY, "against": NASTY}
    rows = [row, {**row, "group": NASTY, "error": NASTY}]
    harmless(leaderboard_page({"settings": settings, "markets": {NASTY: {}}, "rows": rows}, NASTY))


def test_a_hostile_name_is_text_on_sweeps_and_tunings(tmp_path):
    market = tmp_path / NASTY.replace("/", "\u2215") / "market.csv"
    market.parent.mkdir()
    random_panel(120, 4, seed=1).to_frame().to_csv(market, index_label="date")
    space = Space(("pa",), {"eps": (1e-4, 1e-3)})
    run_sweep(Sweep(space, data=(str(market),), fill=("next_open", "close")), tmp_path / "sweep", jobs=1)
    write_sweep(tmp_path / "sweep", draws=100)
    fold = WalkForward(2, purge=0, burn_in=0)
    write_tuning(run_tuning(Tuning(Sweep(space, data=(str(market),), walk_forward=fold)), tmp_path / "tune", jobs=1), draws=100)
    for path, scripts in (("sweep/report.html", 0), ("sweep/comparison.html", 2), ("tune/tune.html", 0)):
        page = (tmp_path / path).read_text(encoding="utf-8").replace("\u2215", "/").replace("\\u2215", "/")
        harmless(page, scripts)


def test_a_hostile_name_is_text_on_reproductions():
    claim = {"claim": NASTY, "found": NASTY, "verdict": NASTY, "tested": NASTY}
    result = {"paper": NASTY, "claims": [claim], "accepted": {NASTY: False, "all": False}}
    table = {"head": [NASTY, "b"], "rows": [[NASTY, NASTY]]}
    line = {NASTY: [(0.0, 1.0), (1.0, 2.0)]}
    harmless(paper_page({**result, "tables": {NASTY: table}, "charts": {NASTY: line}}, NASTY))
    words = {"lead": NASTY, "differences": [(NASTY, NASTY)], "setup": [NASTY], "terms": {NASTY: NASTY}}
    harmless(paper_page(result, "APAS", sections=[Section(NASTY, (), {}, NASTY), apas._speed(None)], **words))
