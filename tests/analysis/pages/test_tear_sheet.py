"""The tear sheet: its numbers are the record's, the file needs nothing but itself, and a failure leaves nothing behind."""

from __future__ import annotations

import html
import os
import re
import sys
import warnings
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from importlib.util import find_spec

import matplotlib
import numpy as np
import pandas as pd
import pytest

from tracker_strategies.analysis.metrics import METRIC_KEYS, annualised
from tracker_strategies.analysis.pages.charts import PORTFOLIO, chart_style, curve, day_numbers, finish, panels, thin
from tracker_strategies.analysis.pages.charts_tracked import effective_names
from tracker_strategies.analysis.pages.limited import goals_table, parameters_of
from tracker_strategies.analysis.pages.tear_sheet import tearsheet
from tracker_strategies.analysis.pages.words import EXTRA
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError, MissingExtraError, OutputError

# Not importorskip: a bare import of QuantStats restyles matplotlib for every test of the session.
pytestmark = pytest.mark.skipif(find_spec("quantstats") is None, reason="needs the extra [report]")

TITLE = '<script>alert("x")</script> & $\\frac{'
NASTY = "PA <i>$x^{</i>"


def run(bars=330, names=14, seed=1, strategy="PA", noise=0.002, targets=("S&P <b>500</b>", "Other")):
    market = np.random.default_rng(5)
    y = 0.0004 + 0.01 * market.standard_t(5, (bars, 1)) + np.c_[np.zeros(bars), 0.003 * market.standard_normal(bars)]
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.zeros(names), 0.98 * rng.dirichlet(np.full(names, 8.0), bars)])
    weights[100:110, -1] = 0.0
    turnover, value = np.r_[0.0, 1.0, np.abs(rng.normal(0.02, 0.01, bars - 1))], np.empty(bars + 1)
    value[0] = 100_000.0
    value[1:] = value[0] * np.cumprod(1 + y[:, 0] + noise * rng.standard_normal(bars))
    dates = pd.bdate_range("2019-12-31", periods=bars + 1).to_numpy().astype("datetime64[ns]")
    outside = pd.DataFrame({"date": dates[-3:], "limit": "max_weight", "kind": ["passive", "forced", "passive"][-len(dates) :]})
    return RunRecord(
        strategy=strategy,
        dates=dates,
        value=value,
        index=np.vstack([np.full(2, 3000.0), 3000.0 * np.cumprod(1 + y, axis=0)])[:, : len(targets)],
        targets=targets,
        symbols=tuple(f"N<{i}>" for i in range(names)),
        weights=weights,
        turnover=turnover,
        cost=5e-4 * turnover * value,
        orders=pd.DataFrame(columns=["date", "symbol", "size", "price", "value", "commission"]),
        params={"C": 1.0, "note": "<b>$1</b>"},
        decisions=weights,
        breaches=outside,
        unfilled=np.zeros(bars + 1),
    )


class Page(HTMLParser):
    """Collects what the tests ask about: attributes, style text, ``<data>`` figures by tile or table row, and plain text."""

    def __init__(self, text):
        super().__init__()
        self.source, self.attributes, self.styles, self.figures, self.words, self.tags = text, [], "", [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        given = dict(attrs)
        if tag == "data" and "data-metric" in given:
            self.figures.append([given["data-metric"], float(given["value"]), ""])

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "style" and self.get_starttag_text().startswith("<style"):
            self.styles += data
            self.tags.append("")
        if self.tags and self.tags[-1] == "data" and "data-metric=" in self.get_starttag_text():
            self.figures[-1][2] = data
            self.tags.append("")
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)


@pytest.fixture(scope="module")
def record():
    return run(strategy=NASTY)


@pytest.fixture(scope="module")
def baselines():
    return [run(seed=2, strategy="Equal weight", noise=0.004), run(seed=3, strategy="Buy <and> hold", noise=0.006)]


@pytest.fixture(scope="module")
def path(record, baselines, tmp_path_factory):
    target = tmp_path_factory.mktemp("sheet") / "new" / "folders" / "tearsheet.html"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tearsheet(record, target, title=TITLE, baselines=baselines) == target
    return target


@pytest.fixture(scope="module")
def page(path):
    return Page(path.read_text(encoding="utf-8"))


def shown(text):
    return float(re.sub(r"[^\d.+-]", "", text.replace("\u2212", "-")))


#: What people read is the metric times this.
UNIT = {
    **dict.fromkeys(("te_rms", "te_centred", "mdte", "entry_active_return"), 1e4),
    **dict.fromkeys(("tracking_difference", "excess_log_return", "turnover", "entry_turnover", "idle_cash"), 100.0),
}


def assert_figures(figures, metrics, beside=()):
    assert sorted(key for key, *_ in figures) == sorted((*METRIC_KEYS, *beside))
    for key, exact, text in figures:
        if key in beside:
            continue
        assert exact == metrics[key]
        assert shown(text) == pytest.approx(
            UNIT.get(key, 1.0) * metrics[key], rel=6e-3, abs=0.5 if key == "final_value" else 1e-9
        )


def test_tiles_and_tables_show_the_metrics_of_the_records(page, record, baselines):
    n, limits = len(METRIC_KEYS), 5
    tiles = n + len(EXTRA) - limits
    assert len(page.figures) == tiles + 6 * n + limits
    assert [key for key, *_ in page.figures[-limits:]] == [
        *(f"breaches_{k}" for k in ("passive", "forced", "active")),
        "idle_cash",
        "unfilled",
    ]
    assert_figures(page.figures[:tiles] + page.figures[-limits:], record.metrics(), EXTRA)
    expected = [*(r.metrics() for r in (record, *baselines)), *(record.metrics(j) for j in (None, 0, 1))]
    for i, metrics in enumerate(expected):
        assert_figures(page.figures[tiles + i * n : tiles + (i + 1) * n], metrics)


def test_capture_and_the_deepest_active_drawdown_have_tiles(page, record):
    figures = {key: (exact, text) for key, exact, text in page.figures}
    r, y = record.scored()
    for key, rows in (("up_capture", y > 0), ("down_capture", y < 0)):
        mine, index = (np.prod(1 + v[rows]) ** (1 / rows.sum()) - 1 for v in (r, y))
        assert figures[key][0] == pytest.approx(mine / index, rel=1e-9)
        assert shown(figures[key][1]) == pytest.approx(100 * mine / index, rel=6e-3)
    relative = np.r_[1.0, np.cumprod((1 + r) / (1 + y))]
    deepest = min(relative[t] / relative[: t + 1].max() - 1 for t in range(len(relative)))
    assert deepest < -0.005
    assert figures["active_drawdown"][0] == pytest.approx(deepest, rel=1e-9)


def test_each_index_has_charts_and_a_report_of_its_own(page, record):
    assert page.source.count(">Excess return</h3>") == page.source.count(">Rolling tracking error</h3>") == 3
    parts = page.source.split('<section class="performance">')[1:]
    assert len(parts) == 2
    for part, name, levels in zip(parts, record.targets, record.index.T, strict=True):
        assert f"<h3>Against {html.escape(name)}</h3>" in part
        total = re.search(r"<td>Cumulative Return</td><td>(.*?)</td><td>(.*?)</td>", part).groups()
        account, index = record.value[-1] / record.value[0] - 1, levels[-1] / levels[0] - 1
        assert [shown(cell) for cell in total] == pytest.approx([100 * index, 100 * account], abs=0.006)


def test_tracking_errors_are_also_shown_annualised(page, record):
    for key in ("te_rms", "te_centred"):
        assert f"{100 * annualised(record.metrics()[key], 252):.2f}\u202f% annualised" in page.text


def test_weights_at_the_end_and_on_average_add_up_to_one(page, record):
    table = page.source.split("Largest weights")[1].split("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th>.*?<td>(.*?)</td><td>(.*?)</td>', table)
    assert len(rows) == 10 + 2
    assert rows[0][0] == record.symbols[int(np.argmax(record.weights[-1]))].replace("<", "&lt;").replace(">", "&gt;")
    assert sum(shown(end) for _, end, _ in rows) == pytest.approx(100, abs=0.07)
    assert sum(shown(mean) for _, _, mean in rows) == pytest.approx(100, abs=0.07)


def test_the_file_loads_nothing_and_runs_nothing(page):
    loading = {"src", "srcset", "href", "xlink:href", "data", "poster", "action", "background", "formaction"}
    outside = [a for a in page.attributes if a[1] in loading and not a[2].startswith(("#", "data:"))]
    assert outside == []
    styles = page.styles + " ".join(
        value for _, name, value in page.attributes if name in ("style", "clip-path", "fill", "stroke")
    )
    assert "@import" not in styles
    assert all(place.startswith("#") for place in re.findall(r"url\(\s*['\"]?([^)]*)", styles))
    assert "http://" not in page.source
    assert "https://" not in page.source
    assert not {"script", "iframe", "object", "embed", "img"} & set(page.tags)
    assert [a for a in page.attributes if a[1].startswith("on")] == []
    assert ("link", "href", "data:,") in page.attributes
    policy = next(v for t, n, v in page.attributes if t == "meta" and n == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_ids_are_unique_and_references_inside_the_file_resolve(page):
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    used = re.findall(r'url\(#([^)]+)\)|xlink:href="#([^"]+)"', page.source)
    assert used
    assert {a or b for a, b in used} <= set(ids)


def test_titles_names_and_parameters_are_text_whatever_they_contain(page, record):
    for words in (TITLE, NASTY, *record.targets, "Buy <and> hold", "N<3>", "<b>$1</b>"):
        assert words in page.text
    assert "<script" not in page.source


def test_the_page_is_light(path, page):
    assert path.stat().st_size < 1_600_000  # two reports of QuantStats
    assert page.source.count('role="img"') == 10 + 2 * 10


def test_same_record_same_bytes_whatever_the_style_of_the_user(record, baselines, path, tmp_path):
    with matplotlib.rc_context({"lines.linewidth": 9.0, "font.size": 30.0, "axes.grid": False, "svg.fonttype": "path"}):
        again = tearsheet(record, tmp_path / "again.html", title=TITLE, baselines=baselines)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("bars", [1, 2, 5, 30])
def test_a_run_that_quantstats_cannot_describe_still_has_its_own_section(bars, tmp_path):
    record = run(bars=bars, names=1, noise=0.0, targets=("INDEX",))
    record = replace(
        record, value=np.full(bars + 1, 1000.0), weights=0 * record.weights, turnover=0 * record.turnover, cost=0 * record.cost
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(tearsheet(record, tmp_path / "short.html").read_text(encoding="utf-8"))
    assert "No QuantStats report:" in page.text
    assert "PA tracks INDEX" in page.text
    assert_figures(page.figures, record.metrics(), EXTRA)


def holed(record, name, row, number):
    array = getattr(record, name).copy()
    array[row] = number
    return replace(record, **{name: array})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda r: holed(r, "value", 7, np.nan), "value: nan on 2020-01-09"),
        (lambda r: holed(r, "value", 7, 0.0), "value: 0.0 on 2020-01-09"),
        (lambda r: holed(r, "index", 7, np.inf), "index S&P <b>500</b>: inf"),
        (lambda r: holed(r, "weights", 7, np.nan), "weights must be finite"),
        (lambda r: holed(r, "cost", 7, np.nan), "cost must be finite"),
        (lambda r: holed(r, "dates", 7, np.datetime64("2020-01-08", "ns")), "ascend"),
        (lambda r: replace(r, dates=pd.DatetimeIndex(r.dates).tz_localize("UTC")), "time zone UTC"),
        (lambda r: replace(r, dates=r.dates[1:]), "rows for 330 dates"),
    ],
)
def test_bad_records_are_refused_and_the_old_page_stays(record, spoil, words, tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(words)):
        tearsheet(spoil(record), target)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text(encoding="utf-8") == "old"


def test_a_baseline_on_other_bars_or_another_index_is_refused(record, tmp_path):
    for other in (record.since(0.5), replace(record, targets=("Other", "S&P"))):
        with pytest.raises(DataError, match="not comparable"):
            tearsheet(record, tmp_path / "page.html", baselines=[other])
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_an_output_error_before_any_work(record, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "quantstats.reports", None)  # any work would end in MissingExtraError
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for place in ("folder", "file/page.html", "file/deep/page.html", "n" * 300 + "/page.html"):
        with pytest.raises(OutputError, match="cannot write"):
            tearsheet(record, tmp_path / place)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_missing_package_is_told_before_anything_is_written(record, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "quantstats.reports", None)
    with pytest.raises(MissingExtraError, match="report"):
        tearsheet(record, tmp_path / "new" / "page.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("stop", "error"), [(KeyboardInterrupt(), KeyboardInterrupt), (OSError(28, "No space left on device"), OutputError)]
)
def test_a_stop_in_the_middle_of_writing_leaves_neither_parts_nor_folders(stop, error, tmp_path, monkeypatch):
    def fail(*_):
        raise stop

    record = run(bars=2, names=1, targets=("INDEX",))
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(error):
        tearsheet(record, tmp_path / "new" / "deep" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_long_curves_are_thinned_without_losing_their_spikes():
    y = np.random.default_rng(0).standard_normal(20_000).cumsum()
    y[12_345], y[777] = 1e4, -1e4
    rows = thin(y)
    assert len(rows) <= 802
    assert {0, 777, 12_345, len(y) - 1} <= set(rows)
    assert np.all(np.diff(rows) > 0)
    assert list(thin(y[:500])) == list(range(500))


def test_effective_number_of_names():
    w = np.array([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0], [0.3, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert effective_names(w) == pytest.approx([4.0, 2.0, 1.0, 0.0])


def test_the_title_names_every_target_and_the_difference_is_against_their_blend(record, tmp_path):
    assert len(record.targets) > 1
    page = tearsheet(record, tmp_path / "several.html").read_text(encoding="utf-8")
    title = re.search(r"<h1>(.*?)</h1>", page)[1]
    assert all(target in title for target in map(str, record.targets)) or " and " in title
    r, y = record.scored()
    shown = re.search(r"portfolio ([^,]+), blend of the indices ([^<]+)<", page)
    for text, growth in zip(shown.groups(), (np.prod(1 + r) - 1, np.prod(1 + y) - 1), strict=True):
        assert float(re.sub(r"[^\d.+-]", "", text.replace("\u2212", "-"))) == pytest.approx(100 * growth, rel=0.01, abs=0.02)


def test_with_several_indices_nothing_is_said_to_be_against_the_index(record, tmp_path):
    page = unescape(tearsheet(record, tmp_path / "several.html").read_text(encoding="utf-8"))
    first = page[: page.index('<h2 id="time"')]
    assert "against the blend, " in first
    assert "of the blend's rises" in first
    assert "against the index, " not in first
    assert "the index's rises" not in first
    years = first[first.index("Calendar years") :].split("</thead>")[0]
    assert "<th>Blend</th>" in years
    assert "<th>Index</th>" not in years


def test_an_entry_of_one_bar_is_no_plural(record, tmp_path):
    page = tearsheet(record, tmp_path / "entry.html").read_text(encoding="utf-8")
    bars = record.metrics()["entry_bars"]
    words = re.search(r'entry_bars"[^>]*>[^<]*</data> (bars?);', page)[1]
    assert words == ("bar" if bars == 1 else "bars")


def test_bars_of_weights_are_as_long_as_their_weights(page):
    rows = re.findall(r'<i style="width:([\d.]+)%"></i></td><td>([\d.,\u2212-]+)', page.source)
    widths, ends = (np.array([float(row[i].replace(",", "").replace("\u2212", "-")) for row in rows]) for i in (0, 1))
    assert len(rows) > 3
    assert widths.max() == 100.0
    assert np.allclose(widths, 100.0 * np.maximum(ends, 0.0) / ends.max(), atol=0.5)


def test_the_sentence_about_survivors_stands_only_where_no_name_left(record, tmp_path):
    def said(run, name):
        return "No name left this universe" in tearsheet(run, tmp_path / name).read_text(encoding="utf-8")

    t = np.linspace(0.0, 1.0, len(record.value))
    record = replace(record, index=record.index[:1] * (1.0 + 0.05 * t)[:, None], value=record.value[0] * (1.0 + 0.2 * t))
    assert said(replace(record, events=(), whole=None), "a.html")
    event = {"date": "2020-01-02", "symbol": record.symbols[0], "event": "delisted"}
    assert not said(replace(record, events=(event,), whole=None), "b.html")
    simulated = {"source": "synthetic:n_assets=5", "opens": False}
    assert not said(replace(record, events=(), whole=None, data=simulated), "c.html")
    lost = record.value * np.linspace(1.0, 0.5, len(record.value))
    assert not said(replace(record, events=(), whole=None, value=lost), "d.html")


def test_no_order_fills_at_an_open_where_the_prices_have_none(record):
    run = replace(record, strategy="mine", params={"fill": "next_open"})
    told = {opens: parameters_of(replace(run, data={"opens": opens}))[0]["fill"] for opens in (True, False)}
    assert told == {True: "next open", False: "next close: the prices have no opens"}


def test_orders_that_volume_did_not_fill_are_told_where_volume_counts(record):
    def told(run):
        return [getattr(row[0], "text", row[0]) for row in goals_table(run).rows]

    assert "Orders not filled" not in told(replace(record, unfilled=None))
    assert "Orders not filled" in told(replace(record, unfilled=np.zeros(len(record.value))))


@pytest.mark.parametrize(("step", "n_bars"), [("W-FRI", 160), ("h", 66), ("min", 170)])
def test_no_span_of_dates_is_complained_about(step, n_bars):
    dates = pd.date_range("2018-01-05", periods=n_bars, freq=step).to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with chart_style():
            figure, (ax,) = panels()
            curve(ax, day_numbers(dates), np.arange(float(n_bars)), PORTFOLIO)
            assert 3 <= finish(figure, "A", [], y="B").svg.count("<text") - 2 <= 14
