"""The comparison page as a file: what is in it, how small it is, and that nothing in it can be mistaken for code."""

import base64
import hashlib
import html
import json
import re
import struct
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.pages.test_tear_sheet import run
from tracker_strategies import comparison
from tracker_strategies.analysis.metrics import METRIC_KEYS
from tracker_strategies.analysis.pages.comparison_page import MOST_BARS, Curve, Field, comparison_page
from tracker_strategies.errors import DataError, OutputError, ParameterError

RUNS = {"first": run(seed=1), "</script><b>second": run(seed=2, noise=0.004)}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return comparison(RUNS, tmp_path_factory.mktemp("page") / "new" / "comparison.html").read_text(encoding="utf-8")


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def floats(text):
    raw = base64.b64decode(text)
    return np.array(struct.unpack(f"<{len(raw) // 4}f", raw))


def test_the_policy_allows_one_script_and_one_style_and_nothing_else(page):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("img-src") == "data:"
    assert (rules.pop("base-uri"), rules.pop("form-action")) == ("'none'", "'none'")
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        assert rules.pop(kind) == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert rules == {}
    body = page.split("</head>")[1].split("<script")[0]
    assert not re.search(r"\sstyle=|\son\w+=|\ssrc=|href=|https?:", body)


def test_the_library_comes_with_its_licence_and_the_package_with_both(page):
    assert "Copyright (c) 2022 Leon Sorokin" in page
    assert "Permission is hereby granted, free of charge" in page
    templates = resources.files("tracker_strategies.analysis.pages") / "templates"
    assert "v1.6.32" in (templates / "uPlot.iife.min.js").read_text()[:100]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_figures_and_curves_are_those_of_the_records(page):
    (field,) = data_of(page)["fields"]
    assert field["x"] == (next(iter(RUNS.values())).dates.astype("datetime64[s]").astype(int)).tolist()
    for (name, record), shown in zip(RUNS.items(), field["runs"], strict=True):
        metrics = record.metrics()
        assert shown["name"] == name
        active, excess = (floats(text) for text in shown["path"])
        np.testing.assert_allclose(active, record.active, rtol=1e-6, atol=1e-9)
        assert excess.sum() == pytest.approx(metrics["excess_log_return"], abs=1e-6)
        assert np.sqrt((active**2).mean()) == pytest.approx(metrics["te_rms"], rel=1e-6)
        row = page.split(f"<span>{html.escape(name)}</span></th>")[1].split("</tr>")[0]
        told = {key: float(value) for key, value in re.findall(r'data-metric="(\w+)" value="([^"]+)"', row)}
        assert told == {key: metrics[key] for key in METRIC_KEYS}


def test_same_runs_same_bytes(page, tmp_path):
    assert comparison(RUNS, tmp_path / "again.html").read_text(encoding="utf-8") == page


@given(st.text())
def test_data_in_a_page_can_neither_end_its_element_nor_begin_a_comment(text):
    path = np.zeros(3, dtype=np.float32)
    curve = Curve(text, {"te_rms": 1e-3, "excess_log_return": 0.1, "turnover": 0.01}, path, path)
    page = comparison_page([Field(text, [curve])], text, text)
    (packed,) = re.findall(r'id="data">(.*?)</script>', page, re.S)
    assert not re.search(r"[<>&\u2028\u2029]", packed)
    (field,) = json.loads(packed)["fields"]
    assert (field["name"], field["runs"][0]["name"]) == (text, text)


def test_names_are_text(page):
    assert "&lt;/script&gt;&lt;b&gt;second" in page
    assert page.count("</script>") == 2
    assert "<b>second" not in page


def test_runs_of_one_name_are_told_apart(tmp_path):
    page = comparison([RUNS["first"]] * 2, tmp_path / "twice.html").read_text(encoding="utf-8")
    assert [shown["name"] for shown in data_of(page)["fields"][0]["runs"]] == ["PA (1)", "PA (2)"]


def test_many_runs_of_many_markets_stay_a_page_that_can_be_sent():
    def curve(i):
        path = np.zeros(2520, dtype=np.float32)
        return Curve(f"run {i}", {"te_rms": 1e-3, "excess_log_return": 0.1, "turnover": 0.01}, path, path)

    small = comparison_page([Field("one", [curve(i) for i in range(10)])], "ten runs")
    assert len(small) < 700_000
    large = comparison_page([Field(f"market {k}", [curve(i) for i in range(30)]) for k in range(10)], "three hundred runs")
    runs = [shown for field in data_of(large)["fields"] for shown in field["runs"]]
    assert len(runs) == 300  # all have a row and a point
    assert 10 * 4 * 2520 <= sum(2520 for shown in runs if shown["path"]) <= MOST_BARS
    assert len(large) < 2_500_000


def test_runs_that_cannot_be_compared_are_refused_and_nothing_is_written(tmp_path):
    for other in (run(bars=300), replace(run(), index=2.0 * run().index ** 1.01)):
        with pytest.raises(DataError, match="not comparable"):
            comparison({"a": run(), "b": other}, tmp_path / "page.html")
    broke = run()
    broke.value[-3:] = 0.0
    with np.errstate(all="ignore"), pytest.raises(DataError, match="run 'PA': value and index must be finite and positive"):
        comparison([broke], tmp_path / "page.html")
    with pytest.raises(ParameterError, match="no runs"):
        comparison([], tmp_path / "page.html")
    with pytest.raises(DataError, match=r"not a run folder: it has no run\.json"):
        comparison([tmp_path], tmp_path / "page.html")
    with pytest.raises(OutputError, match="it is a folder"):
        comparison(RUNS, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_runs_with_another_blend_are_not_comparable(tmp_path):
    one = run(seed=1)
    two = replace(one, targets=("A", "B"), index=np.hstack([one.index, one.index[::-1]]), blend=np.array([0.5, 0.5]))
    with pytest.raises(DataError, match="another blend"):
        comparison({"a": two, "b": replace(two, blend=np.array([0.9, 0.1]))}, tmp_path / "page.html")


@pytest.mark.parametrize(("source", "said"), [("prices.csv", True), ("synthetic:n_assets=5", False)])
def test_simulated_prices_have_no_survivors(source, said):
    path = np.full(3, 0.001, dtype=np.float32)
    curve = Curve("one", {"te_rms": 0.001, "excess_log_return": 0.003, "turnover": 0.01, "n_bars": 3}, path, path)
    assert ("survivors lift" in comparison_page([Field("a", [curve], source=source)], "one run")) is said
