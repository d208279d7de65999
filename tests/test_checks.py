"""Checks of single values: what is allowed comes back as a plain value, all else is refused by name."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from tracker_strategies._checks import count, flag, fraction, number, one_of
from tracker_strategies.errors import InputError, ParameterError


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int8(2), np.array(2.0), Fraction(2)])
def test_numbers_of_any_kind_become_floats(value):
    found = number("x", value, above=1.0, least=2.0)
    assert type(found) is float
    assert found == 2.0


@pytest.mark.parametrize("value", [True, np.True_, "2", b"2", None, float("nan"), np.inf, 1.0, [2.0, 3.0]])
def test_what_is_no_number_or_too_small_is_refused(value):
    with pytest.raises(InputError, match=r"x must be a finite number > 1, got "):
        number("x", value, above=1.0, error=InputError)


@pytest.mark.parametrize(
    "value",
    [0.05, "0.05", "5%", "5 %", " 5.0% ", ".05", "5e-2", "+5%", "500e-2 %", np.float64(0.05), np.array(0.05), Fraction(1, 20)],
)
def test_a_fraction_is_a_number_or_a_percentage(value):
    found = fraction("x", value)
    assert type(found) is float
    assert found == 0.05


def test_percent_signs_divide_in_decimals():
    assert [fraction("x", f"{text}%") for text in ("2.3", "0.07", "1.1")] == [0.023, 0.0007, 0.011]
    assert 0.07 / 100 != 0.0007  # what a division of floats would have given


ODD = (b"5%", True, np.True_, None, float("nan"), np.inf, [0.05], "101%", 1.5, -0.1, "-1%")


@pytest.mark.parametrize(
    "value",
    [
        "5 percent",
        "5%%",
        "%",
        "",
        "5bp",
        "1_0%",
        "nan",
        "inf",
        "nan%",
        "0x1",
        "1e999",
        "5,5",
        "\u0665%",
        b"5%",
        True,
        np.True_,
        *ODD,
    ],
)
def test_what_is_no_fraction_is_refused_with_what_was_received_and_an_example(value):
    with pytest.raises(InputError, match=r"x must be a fraction from 0 to 1 such as 0.05 or 5%, got ") as refused:
        fraction("x", value, error=InputError)
    assert repr(value) in str(refused.value)


def test_a_fraction_has_the_bounds_that_it_is_given():
    assert fraction("x", "-20%", least=-1.0) == -0.2
    assert fraction("x", 3, most=10.0) == 3.0
    assert fraction("x", 0) == 0.0
    with pytest.raises(ParameterError, match=r"x must be a fraction above 0 and at most 1 .*, got 0$"):
        fraction("x", 0, above=0.0)


def test_a_percentage_without_its_sign_is_guessed():
    for value in (5, "5"):
        with pytest.raises(ParameterError, match=r"; write 5% for 5 percent$"):
            fraction("x", value)
    for value in ("500%", 500, -5):
        with pytest.raises(ParameterError, match=r"got \S+$"):
            fraction("x", value)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_become_ints(value):
    assert type(count("n", value)) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, True, np.True_, "3", None, np.float64(3.0)])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(ParameterError, match=r"n must be an integer >= 1, got "):
        count("n", value)


def test_a_count_may_begin_elsewhere():
    assert count("seed", 0, least=0) == 0
    with pytest.raises(ParameterError, match="seed must be an integer >= 0, got -1"):
        count("seed", -1, least=0)


@pytest.mark.parametrize("value", ["c", None, 1, ["a"], np.array(["a"])])
def test_a_text_is_one_of_those_allowed(value):
    assert one_of("rule", "a", ("a", "b")) == "a"
    with pytest.raises(ParameterError, match=r"rule must be one of a, b, got "):
        one_of("rule", value, ("a", "b"))


@pytest.mark.parametrize("value", [0, 1, "True", None, np.array([True, False])])
def test_a_flag_is_true_or_false(value):
    assert flag("on", np.True_) is True
    assert flag("on", False) is False
    with pytest.raises(ParameterError, match="on must be True or False, got "):
        flag("on", value)


def test_asking_needs_no_numpy():
    code = "import sys, tracker_strategies._checks; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
