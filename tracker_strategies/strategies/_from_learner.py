"""What a Strategy takes from its learner: params from the signature, their documentation from the numpydoc, name and figures from
the decorator.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from inspect import Parameter, Signature
from typing import Any

import backtrader as bt

from tracker_strategies.algorithms.registration import registration_of
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate.mandate import Mandate
from tracker_strategies.strategies._param_types import type_of
from tracker_strategies.strategies._side import SIDE, side_information
from tracker_strategies.strategies.registry import HIDDEN_PARAMS
from tracker_strategies.strategies.target import omega_of

#: Keyword arguments that a strategy fills in itself, each from params of its own: name, default and what it is.
SUPPLIED: dict[str, dict[str, tuple[Any, str]]] = {"feasible": {}, "side": SIDE, "n_targets": {}, "omega": {}, "start": {}}
#: Params of every strategy that a learner may read; any other common name would mean two things.
SHARED = ("max_names",)
_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`~?(?:[\w.]*\.)?(\w+)`")
#: Keyword arguments that count names: a default of theirs is meant for a market with so many.
COUNTS = ("theta", "max_names")

#: Params without which the example of a strategy does not run.
_NEEDED = {
    "ConstantWeight": 'weights={"AAPL": 0.6, "JPM": 0.4}',
    "Replicate": 'index_weights={"2011-01-03": {"AAPL": 0.6, "JPM": 0.4}}',
}


class FromLearner(bt.strategy.MetaStrategy):
    """Completes a Strategy whose body names a ``learner``. What the body says itself stays as it says it."""

    def __new__(meta, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """Fill in params, docstring, name and figures before backtrader makes the class."""
        learner = body.get("learner")
        if learner is not None:
            given = registration_of(learner)
            body.setdefault("alias_name", (given and given.name) or learner.__name__)
            body.setdefault("diagnostic_lines", given.shows if given else ())
            without, called = (body.setdefault(name, getattr(bases[0], name)) for name in ("without", "called"))
            params = _params(learner, bases[0], without, called) | dict(body.get("params", ()))
            body["params"] = tuple(params.items())
            body["__doc__"] = _docstring(learner, body.get("__doc__"), params, called)
        return super().__new__(meta, name, bases, body)

    def __init__(cls: Any, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:  # noqa: N805
        """Signature and help, once backtrader has put the params together."""
        super().__init__(name, bases, body)
        cls.__signature__ = signature_of(cls)
        cls.doc_source = body.get("__doc__") or ""  # with its markup, for the reference
        if cls.doc_source:
            cls.__doc__ = help_of(cls, cls.doc_source)


def options(cls: Any, p: Any, symbols: tuple[str, ...], n_targets: int) -> dict[str, Any]:
    """Keyword arguments of the learner of a Strategy, from its params."""
    defaults = dict(cls.params._getitems())
    found: dict[str, Any] = {}
    for keyword in keywords(cls.learner):
        if keyword == "side":
            found[keyword] = side_information(p)
        elif keyword == "n_targets":
            found[keyword] = n_targets
        elif keyword == "omega":
            found[keyword] = omega_of(p, n_targets)
        elif keyword == "start" and getattr(p, "start_weights", None) is not None:
            found[keyword] = p.start_weights
        elif keyword not in SUPPLIED and keyword not in cls.without:
            name = cls.called.get(keyword, keyword)
            value = getattr(p, name)
            small = keyword in COUNTS and value is not None and value == defaults[name] and value > len(symbols)
            found[keyword] = len(symbols) if small else value
    return found


@cache
def keywords(learner: type) -> Mapping[str, Any]:
    """Keyword arguments of a learner with their defaults."""
    signature = list(inspect.signature(learner).parameters.values())
    return {each.name: each.default for each in signature[1:] if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)}


def _params(learner: type, base: Any, without: Any, called: Mapping[str, str]) -> dict[str, Any]:
    """Params that the learner adds to, or changes of, those that the Strategy inherits."""
    inherited = dict(base.params._getitems())
    common = [cls for cls in base.__mro__ if isinstance(cls, FromLearner)][-1].params._getkeys()
    found: dict[str, Any] = {}
    for keyword, default in keywords(learner).items():
        found |= {name: value for name, (value, _) in SUPPLIED.get(keyword, {}).items()}
        if keyword in SUPPLIED or keyword in SHARED or keyword in without:
            continue
        name = called.get(keyword, keyword)
        if name in common:
            raise ParameterError(
                f"{name} of {learner.__name__} is already a param of every strategy, with another meaning; rename it"
            )
        if default is inspect.Parameter.empty:
            raise ParameterError(
                f"{name} of {learner.__name__} has no default, but every param of a strategy needs one; add a default"
            )
        found[name] = default
    found = {name: value for name, value in found.items() if name not in without}
    return {name: value for name, value in found.items() if name not in inherited or inherited[name] != value}


def _docstring(learner: type, own: str | None, params: Mapping[str, Any], called: Mapping[str, str]) -> str:
    """The text of the class, or the learner's summary, and an entry for each param that it leaves unsaid."""
    text = inspect.cleandoc(own) if own else (inspect.getdoc(learner) or learner.__name__).partition("\n\n")[0]
    about = {called.get(keyword, keyword): words for keyword, words in documented(learner).items()}
    for group in SUPPLIED.values():
        about |= {name: words for name, (_, words) in group.items()}
    head, _, said = text.partition("\nParams")
    entries = [
        textwrap.fill(
            f"- ``{name}`` ({_shown(default)}): {about.get(name) or 'see the learner'}",
            width=128,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        for name, default in params.items()
        if f"``{name}``" not in said
    ]
    said = said or " (in addition to those of :class:`TrackerStrategy`):"
    return "\n".join([f"{head.rstrip()}\n\nParams{said}", *entries]) if params else text


def _shown(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def documented(learner: type) -> dict[str, str]:
    """What the numpydoc of a learner says of each parameter, or that of the class it comes from."""
    found: dict[str, str] = {}
    for cls in reversed(learner.__mro__):
        section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", inspect.cleandoc(cls.__doc__ or ""), re.M | re.S)
        entries = section[1] if section else ""
        for names, kind, text in re.findall(r"^(\w[\w, ]*)(?: : (.*))?\n((?:[ ]+.*\n?|\n)*)", entries, re.M):
            choices = re.match(r"\{(.*)\}", kind)
            words = (f"{choices[1]}. " if choices else "") + " ".join(text.split())
            found |= {name: words.strip() for name in names.split(", ") if name not in found or not words.startswith("As for")}
    return found


# -- what help() and an editor show ----------


def plain_text(doc: str) -> str:
    """A docstring without the marks of a documentation tool."""
    return re.sub(r":math:`([^`]*)`", r"\1", _ROLE.sub(r"\1", doc)).replace("``", "")


def signature_of(cls: Any) -> Signature:
    """The params as keyword arguments, those of the strategy itself first, with defaults and types."""
    own = dict(cls.params._getitems())
    common = dict(_root(cls).params._getitems())
    names = [*(name for name in own if name not in common), *(name for name in common if name in own)]
    return Signature(
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=own[name],
                annotation=type_of(name, own[name]),
            )
            for name in names
            if name not in HIDDEN_PARAMS
        ]
    )


def help_of(cls: Any, doc: str) -> str:
    """What the strategy is, its own params, an example, the params of every tracker, and the limits of its mandate."""
    root = _root(cls)
    if cls is root:
        return "\n\n".join([plain_text(inspect.cleandoc(doc)).rstrip(), _example("tracker_strategies", "EnsembleTracker")])
    text = plain_text(inspect.cleandoc(doc)).rstrip()
    example = _example(cls.__module__.partition(".strategies.")[0], cls.__name__)
    between = [base for base in cls.__mro__[1:] if type(base) is type(cls)]
    return "\n\n".join([text, example, *filter(None, map(_params_of, between)), _limits()])


def _example(home: str, name: str) -> str:
    """A strategy in cerebro, as it can be pasted."""
    params = _NEEDED.get(name, 'rebalance="weekly", max_weight=0.1')
    return f"""Example:
  >>> import backtrader as bt
  >>> from datafeeds import IndexData, load_sample
  >>> from {home} import {name}
  >>> cerebro = bt.Cerebro(stdstats=False)
  >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
  >>> position = cerebro.addstrategy({name}, {params})
  >>> run = cerebro.run()[0]"""


@cache
def _limits() -> str:
    """The section on limits, from the docstring of the mandate."""
    _, _, section = plain_text(inspect.cleandoc(Mandate.__doc__ or "")).partition("Parameters\n----------\n")
    lines = []
    for names, kind, words in re.findall(r"^(\w[\w, ]*) : ([^\n]*)\n((?: {4}[^\n]*\n?)+)", section, re.M):
        lines += textwrap.wrap(
            f"- {names} ({kind}): {' '.join(words.split())}", 120, initial_indent="  ", subsequent_indent="    "
        )
    return 'Limits of every tracker, not set by default (weights are shares of the account, 0.05 or "5%"):\n' + "\n".join(lines)


def _params_of(base: Any) -> str:
    """The section on params of a class above, headed by its name."""
    _, _, section = plain_text(inspect.cleandoc(base.doc_source)).partition("\nParams")
    name = "every tracker" if base is _root(base) else base.__name__
    return f"Params of {name}:{section.partition(':')[2].rstrip()}" if section else ""


def _root(cls: Any) -> Any:
    """TrackerStrategy, which cannot be imported here."""
    return [base for base in cls.__mro__ if type(base) is type(cls)][-1]
