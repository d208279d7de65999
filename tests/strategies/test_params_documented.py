"""What a docstring says of params is true: each exists, with that default, and none is left unsaid."""

import ast
import inspect
import pydoc
import re

import pytest

import indicators
from datafeeds.feeds.feed import PanelFeed
from tracker_strategies import analysis
from tracker_strategies.strategies import STRATEGIES, EnsembleTracker, TrackerStrategy
from tracker_strategies.strategies._param_types import TYPES
from tracker_strategies.strategies.registry import HIDDEN_PARAMS

WATCHERS = [getattr(indicators, name) for name in indicators.__all__ if hasattr(getattr(indicators, name), "params")]
ANALYZERS = [analysis.TrackingAnalyzer, analysis.HoldingsAnalyzer, analysis.MandateAnalyzer, analysis.DiagnosticsAnalyzer]
CLASSES = [TrackerStrategy, *STRATEGIES, *WATCHERS, *ANALYZERS, PanelFeed]


def said(cls):
    """Names of params in the docstring of a class itself, with the text of the default where there is one."""
    text = vars(cls).get("doc_source", cls.__doc__ or "").partition("Params")[2]
    found = dict.fromkeys(name for name in re.findall(r"``([A-Za-z_]\w*)``", text) if name != "INDEX")
    return found | dict(re.findall(r"``([A-Za-z_]\w*)`` \(([^)]*)\)", text))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_param_in_a_docstring_exists_with_its_default(cls):
    real = dict(cls.params._getitems())
    for name, default in said(cls).items():
        assert name in real, f"{cls.__name__} documents {name}, which it does not have"
        if default is not None:
            try:
                value = ast.literal_eval(default)
            except (ValueError, SyntaxError):
                continue  # a type, or a word
            assert value == real[name], f"{cls.__name__} documents {name} ({default}); it is {real[name]!r}"


@pytest.mark.parametrize("cls", [*STRATEGIES, *(w for w in WATCHERS if w.__module__ != "indicators.smoothing")])
def test_no_param_is_left_unsaid(cls):
    known = set().union(*(said(base) for base in cls.__mro__))
    assert set(cls.params._getkeys()) <= known


def test_the_check_sees_a_param_that_is_not_there():
    class Wrong(TrackerStrategy):
        """One.

        Params:
          - ``floor`` (0): none
        """

    with pytest.raises(AssertionError, match="documents floor"):
        test_every_param_in_a_docstring_exists_with_its_default(Wrong)


@pytest.mark.parametrize("cls", STRATEGIES, ids=lambda cls: cls.__name__)
def test_help_says_what_it_is_and_names_every_param_without_markup(cls):
    text = pydoc.render_doc(cls, renderer=pydoc.plaintext).partition("Method resolution order")[0]
    assert not re.search(r":\w+:`|``", text)
    shown = inspect.signature(cls).parameters
    hidden = set(HIDDEN_PARAMS)
    assert set(shown) == set(cls.params._getkeys()) - hidden
    assert all(shown[name].default == default for name, default in cls.params._getitems() if name not in hidden)
    assert [name for name, param in shown.items() if param.annotation is inspect.Parameter.empty] == []
    body = cls.__doc__
    assert [name for name in shown if not re.search(rf"\b{name}\b", body)] == []
    assert f"cerebro.addstrategy({cls.__name__}" in text
    assert "- max_weight (number or mapping, optional): Largest weight of a name." in text


def test_every_type_that_is_given_in_words_is_that_of_a_param_and_fits_its_default():
    params = {name: default for cls in STRATEGIES for name, default in cls.params._getitems()}
    assert set(TYPES) <= set(params)
    words = {type(None): "None", int: "int", float: "float", str: "str", bool: "bool"}
    for name, given in TYPES.items():
        default = params[name]
        fits = f'"{default}"' in given if "Literal" in given and default is not None else words[type(default)] in given
        assert fits or (isinstance(default, float | int) and "float" in given), f"{name}: {given} = {default!r}"


def test_a_signature_prints_types_without_quotes():
    shown = str(inspect.signature(EnsembleTracker))
    assert "rebalance: int | str = 1" in shown
    assert 'fill: Literal["next_open", "open", "close"] = \'next_open\'' in shown
