"""A mandate is said once, in many ways, and what it cannot mean is refused with what was received and what to do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import bind, may_hold
from tracker_strategies.execution.mandate.mandate import KEYS
from tracker_strategies.strategies import PATracker, SparsePLSTracker
from tracker_strategies.strategies.compose import settle_mandate
from tracker_strategies.strategies.registry import default_params

NAMES = ("A", "B", "C", "D")
SECTORS = {"A": "Tech", "B": "Tech", "C": "Energy", "D": "Health", "ELSEWHERE": "Utilities"}


def params(cls: Any = PATracker, **given: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**default_params(cls), **given})


@pytest.mark.parametrize("value", [0.05, "0.05", "5%", "5 %", {"*": "5%"}, "*:5%"])
def test_a_share_may_be_said_in_many_ways(value: Any) -> None:
    assert Mandate(max_weight=value) == Mandate(max_weight=0.05)
    assert Mandate(max_weight=value).plain()["max_weight"] == 0.05


def test_every_key_of_a_mandate_is_a_param_of_every_strategy() -> None:
    assert {*KEYS, "mandate"} <= set(default_params(PATracker))


def test_a_file_says_the_same_and_its_paths_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "sectors.csv").write_text("symbol,sector\nA,Tech\nB,Tech\nC,Energy\nD,Health\n")
    file = tmp_path / "mandate.toml"
    file.write_text(
        'max_names = 3\nmax_weight = "40%"\nsectors = "sectors.csv"\nexclude = ["D"]\n[max_sector]\n"*" = 0.5\nEnergy = 0.2\n'
    )
    read = Mandate.read(file)
    assert read.max_names == 3
    assert read.max_weight == {"*": 0.4}
    assert read.sectors == str(tmp_path / "sectors.csv")
    limits = bind(read, NAMES)
    assert [(g.name, g.members.tolist(), g.upper) for g in limits.groups] == [
        ("Energy", [2], 0.2), ("Health", [3], 0.5), ("Tech", [0, 1], 0.5),
    ]  # fmt: skip
    np.testing.assert_array_equal(limits.upper, [0.4, 0.4, 0.4, 0.0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_names": 0}, "max_names must be an integer >= 1, got 0"),
        ({"max_weight": "5 percent"}, "max_weight must be a fraction"),
        ({"max_weight": 5}, "write 5%"),
        ({"min_cash": 1.0}, "min_cash=1.0 must be below 1"),
        ({"max_sector": 0.2}, "max_sector needs the sector of each name"),
        ({"max_names_per_group": 2}, "needs the group of each name"),
        ({"unmapped": "maybe"}, "unmapped must be one of refuse, group, free"),
        ({"must_hold": 0.02}, "must_hold=0.02 must be a mapping"),
        ({"must_hold": {"*": 0.02}}, "must_hold lists each name .* '\\*' is not allowed"),
        ({"exclude": ["A"], "must_hold": {"A": 0.1}}, "A is in exclude, but also in must_hold or freeze"),
        ({"max_turnover": 0.001, "min_weight": 0.01}, "never be sold completely"),
        ({"groups": {"country": {"most": 0.3}}}, "group 'country' needs the key 'of'"),
        ({"lot": -1}, "lot must be a finite number >= 0, got -1"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Mandate(**given)


def test_a_wrong_key_or_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no limit 'max_wieght'; did you mean max_weight"):
        Mandate.of({"max_wieght": 0.1})
    file = tmp_path / "bad.toml"
    file.write_text("max_names = = 3")
    with pytest.raises(ParameterError, match="cannot be read as a mandate"):
        Mandate.read(file)
    with pytest.raises(ParameterError, match="there is no mandate"):
        Mandate.read(tmp_path / "absent.toml")
    file.write_text("max_names = 0")
    with pytest.raises(ParameterError, match=r"bad\.toml: max_names must be"):
        Mandate.read(file)
    with pytest.raises(ParameterError, match="must be a Mandate"):
        Mandate.of(3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"exclude": ["AA"]}, "exclude contains 'AA', which is not one of the 4 assets; did you mean 'A'"),
        ({"max_weight": {"*": 0.5, "Z": 0.1}}, "max_weight contains 'Z'"),
        ({"freeze": "Q"}, "freeze contains 'Q'"),
        ({"sectors": SECTORS, "max_sector": {"Tec": 0.1}}, "'Tec', which is not one of the 4 sectors; did you mean 'Tech'"),
        ({"sectors": {"A": "Tech"}, "max_sector": 0.5}, r"3 of 4 names have no sector \(B, C, D\)"),
        ({"sectors": {"X": "Tech"}, "max_sector": 0.5}, "none of the 4 names has a sector"),
        ({"sectors": SECTORS, "min_sector": {"Utilities": 0.1}}, "min_sector Utilities=10 %: none of the 4 names is in it"),
    ],
    ids=str,
)
def test_names_and_sectors_that_are_not_there_are_refused_with_the_nearest(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UniverseError, match=words):
        bind(Mandate(**given), NAMES)


def test_names_without_a_sector_form_a_group_or_are_free() -> None:
    few = {"A": "Tech", "B": "Tech"}
    grouped = bind(Mandate(sectors=few, max_sector=0.4, unmapped="group"), NAMES)
    assert [(g.name, g.members.tolist()) for g in grouped.groups] == [("Tech", [0, 1]), ("unmapped", [2, 3])]
    free = bind(Mandate(sectors=few, max_sector=0.4, unmapped="free"), NAMES)
    assert [g.name for g in free.groups] == ["Tech"]


def test_several_groupings_hold_at_once() -> None:
    country = {"of": {"A": "US", "B": "DE", "C": "US", "D": "DE"}, "max": {"US": 0.6}, "max_names": 1}
    limits = bind(Mandate(sectors=SECTORS, max_sector=0.5, groups={"country": country}), NAMES)
    assert [(g.grouping, g.name, g.max_names) for g in limits.groups if g.grouping == "country"] == [
        ("country", "DE", 1),
        ("country", "US", 1),
    ]


def test_headroom_moves_caps_and_floors_and_not_the_promise() -> None:
    mandate = Mandate(max_weight=0.4, sectors=SECTORS, max_sector=0.5, min_sector={"Energy": 0.1}, min_cash=0.02, headroom=0.05)
    decided, promised = bind(mandate, NAMES), bind(mandate, NAMES, headroom=False)
    assert decided.upper[0] == pytest.approx(0.38)
    assert decided.min_cash == pytest.approx(0.021)
    energy = next(g for g in decided.groups if g.name == "Energy")
    assert (energy.lower, energy.upper) == pytest.approx((0.105, 0.475))
    assert promised.upper[0] == 0.4
    assert promised.min_cash == 0.02


def test_only_excludes_all_others_and_somebody_must_be_left() -> None:
    assert may_hold(Mandate(only="A,C"), NAMES).tolist() == [True, False, True, False]
    with pytest.raises(ParameterError, match="every one of the 4 names is excluded"):
        may_hold(Mandate(exclude=list(NAMES)), NAMES)


def test_mandate_and_params_are_one_and_must_not_contradict() -> None:
    p = params(mandate=Mandate(max_weight=0.4, lot=1), min_cash="1%")
    mandate = settle_mandate(PATracker, p, NAMES)
    assert (mandate.max_weight, mandate.lot, mandate.min_cash) == ({"*": 0.4}, 1.0, 0.01)
    assert (p.max_weight, p.lot, p.min_cash, p.mandate) == (0.4, 1.0, 0.01, None)
    settle_mandate(PATracker, params(mandate={"max_weight": 0.4}, max_weight="40%"), NAMES)
    with pytest.raises(ParameterError, match=r"max_weight=.*contradict each other; give only one"):
        settle_mandate(PATracker, params(mandate={"max_weight": 0.4}, max_weight=0.3), NAMES)


def test_a_default_of_a_strategy_gives_way_to_a_mandate_and_to_a_small_market() -> None:
    p = params(SparsePLSTracker, mandate={"max_names": 2})
    assert settle_mandate(SparsePLSTracker, p, NAMES).max_names == p.max_names == 2
    p = params(SparsePLSTracker)
    assert settle_mandate(SparsePLSTracker, p, NAMES).max_names is p.max_names is None


def test_a_mandate_that_limits_nothing_is_none() -> None:
    assert Mandate().is_free
    assert Mandate(sectors=SECTORS, headroom=0.05).is_free
    assert not Mandate(groups={"country": {"of": SECTORS, "max": 0.5}}).is_free
    assert not Mandate(min_cash=0.01).is_free
