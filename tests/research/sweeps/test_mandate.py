"""A sweep within limits: they hold for all strategies, travel with the cells, and are refused before anything runs."""

import json
from dataclasses import replace

import pytest

from tests.markets import random_panel
from tests.research.sweeps.test_run import rows_of
from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.research import replay
from tracker_strategies.research.leaderboard.run import entrants, run_leaderboard
from tracker_strategies.research.sweeps import Space, Sweep, run_sweep
from tracker_strategies.research.sweeps.asking.values import limits_in_words
from tracker_strategies.research.sweeps.judging.report import write_report
from tracker_strategies.research.sweeps.judging.results import load

MARKET = "synthetic:n_assets=6,n_bars=80"
PANEL = random_panel(80, 6, seed=7)


def sweep_of(**more):
    return Sweep(Space(("pa", "buy-and-hold"), {"eps": (1e-4, 1e-3)}), data=(MARKET,), **more)


@pytest.fixture
def sectors(tmp_path):
    path = tmp_path / "sectors.csv"
    path.write_text("symbol,sector\n" + "".join(f"{name},{'xy'[i % 2]}\n" for i, name in enumerate(PANEL.symbols)))
    return path


def test_limits_hold_for_candidates_and_baselines_alike(tmp_path):
    summary = run_sweep(sweep_of(mandate={"max_names": 3}), tmp_path / "few", jobs=1)
    assert summary.failed == 0
    few = load(tmp_path / "few").settings[0].entries
    assert {e.strategy for e in few} == {"pa", "buy-and-hold", "equal-weight"}
    assert all(e.figures["n_holdings"] <= 3.0 for e in few)
    run_sweep(sweep_of(), tmp_path / "free", jobs=1)
    free = load(tmp_path / "free").settings[0].entries
    assert all(e.figures["n_holdings"] > 3.0 for e in free)


def test_a_cell_is_the_run_with_these_limits(tmp_path):
    run_sweep(sweep_of(mandate={"max_weight": "20%", "min_cash": 0.01}), tmp_path, jobs=1)
    panel = sweep_of().sources()[0].open()
    same = replay(panel, "pa", {"eps": 1e-3, "max_weight": 0.2, "min_cash": 0.01}).metrics()["te_rms"]
    (row,) = [r for r in rows_of(tmp_path) if r["strategy"] == "pa" and json.loads(r["params"]) == {"eps": 1e-3}]
    assert row["te_rms"] == same


def test_two_mandates_in_one_folder_are_two_settings(tmp_path):
    run_sweep(sweep_of(), tmp_path, jobs=1)
    run_sweep(sweep_of(mandate={"max_names": 3}), tmp_path, jobs=1, extend=True)
    settings = load(tmp_path).settings
    assert [json.loads(s.about["mandate"]) for s in settings] == [{"max_names": 3}, {}]
    assert [len(s.entries) for s in settings] == [4, 4]
    found = write_report(tmp_path, draws=100)
    assert len(found["settings"]) == 2
    assert "max_names=3" in (tmp_path / "report.html").read_text()


def test_a_mandate_is_written_down_without_its_files(sectors, tmp_path):
    file = tmp_path / "m.toml"
    file.write_text(f'sectors = "{sectors.name}"\nmax_sector = "60%"\n')
    sweep = sweep_of(mandate=str(file))
    assert sweep.mandate == {"sectors": {n: "xy"[i % 2] for i, n in enumerate(PANEL.symbols)}, "max_sector": 0.6}
    same = Sweep.from_mapping(json.loads(json.dumps(sweep.tell())))
    assert same.mandate == sweep.mandate
    assert same.tell() == sweep.tell()
    assert "mandate" not in sweep_of().tell()


def test_a_group_of_a_file_with_a_column_of_its_own_is_read_by_its_name(tmp_path):
    (tmp_path / "c.csv").write_text("symbol,sector,country\nS0,x,US\nS1,y,UK\n")
    given = {"groups": {"country": {"of": str(tmp_path / "c.csv"), "max": 0.5}}, "unmapped": "free"}
    assert sweep_of(mandate=given).mandate["groups"]["country"]["of"] == {"S0": "US", "S1": "UK"}


def test_cells_within_other_limits_are_other_cells():
    (data,) = sweep_of().sources()
    free, few, fewer = (sweep_of(mandate=given) for given in ({}, {"max_names": 3}, Mandate(max_names=2)))
    keys = set()
    for sweep in (free, few, fewer, replace(few, mandate={"max_names": 3})):
        context = next(iter(sweep.contexts({data: data.open()})))
        keys.add(context.cell(next(iter(sweep.candidates())), sweep).key("code"))
    assert len(keys) == 3


def test_a_limit_is_in_the_mandate_or_tried_not_both():
    with pytest.raises(ParameterError, match="max_weight is in the mandate"):
        Sweep(Space(("pa",), {"max_weight": (0.2, 0.3)}), mandate={"max_weight": 0.3})
    with pytest.raises(ParameterError, match="max_names is in the mandate"):
        run_leaderboard({"one": PANEL}, entrants(("pa",), max_names=3), mandate={"max_names": 4})


def test_limits_may_be_tried_and_one_that_cannot_hold_fails_alone(tmp_path):
    sweep = Sweep(Space(("pa",), {"max_weight": ("10%", "20%", "50%")}), data=(MARKET,), baselines=())
    summary = run_sweep(sweep, tmp_path, jobs=1)
    assert (summary.ran, summary.failed) == (3, 1)
    (row,) = [row for row in rows_of(tmp_path) if row["status"] != "ok"]
    assert "6 names of at most 10 % hold 60 % together, but 100 % must be invested" in row["error"]


def test_what_cannot_hold_is_refused_before_a_folder_is_made(tmp_path):
    place = tmp_path / "sweep"
    with pytest.raises(ParameterError, match="6 names of at most 10 % hold 60 % together, but 100 % must be invested"):
        run_sweep(sweep_of(mandate={"max_weight": 0.1}), place, jobs=1)
    with pytest.raises(UniverseError, match="NONE"):
        run_sweep(sweep_of(mandate={"exclude": "NONE"}), place, jobs=1)
    with pytest.raises(ParameterError, match=r"pa on market one.*6 names of at most 10 %"):
        run_leaderboard({"one": PANEL}, entrants(("pa",)), place, mandate={"max_weight": 0.1})
    assert not place.exists()


def test_a_leaderboard_applies_the_limits_to_all():
    names = ("pa", "ensemble", "equal-weight", "buy-and-hold", "least-squares")
    result = run_leaderboard({"one": PANEL}, entrants(names), mandate={"max_names": 3})
    assert result["settings"]["mandate"] == {"max_names": 3}
    assert {row["strategy"] for row in result["rows"]} == set(names)
    for row in result["rows"]:
        assert not row["error"]
        assert row["n_holdings"] <= 3.0


def test_limits_in_words():
    mandate = Mandate(max_names=30, max_weight={"*": 0.05, "A": 0.08}, exclude=("X", "Y"), lot=1, min_cash=0.005, sectors="s.csv")
    plain = {key: value for key, value in mandate.plain().items() if key in mandate.said()}
    assert limits_in_words(plain) == "max_names=30, max_weight=*:5%,A:8%, sectors from s.csv, exclude=X,Y, min_cash=0.5%, lot=1"
