"""What ``help(EnsembleTracker)`` and an editor show of a Strategy: its signature, and all its params in plain text."""

from __future__ import annotations

import inspect
import re
from inspect import Parameter, Signature
from typing import Any

from tracker_strategies.strategies.registry import HIDDEN_PARAMS

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`~?(?:[\w.]*\.)?(\w+)`")


def plain_text(doc: str) -> str:
    """A docstring without the marks of a documentation tool."""
    return re.sub(r":math:`([^`]*)`", r"\1", _ROLE.sub(r"\1", doc)).replace("``", "")


def signature_of(cls: Any) -> Signature:
    """The params as keyword arguments, those of the strategy itself first, with defaults, and types where these tell them."""
    own = dict(cls.params._getitems())
    common = dict(_root(cls).params._getitems())
    names = [*(name for name in own if name not in common), *(name for name in common if name in own)]
    return Signature(
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=own[name],
                annotation=Parameter.empty if own[name] is None else type(own[name]),
            )
            for name in names
            if name not in HIDDEN_PARAMS
        ]
    )


def help_of(cls: Any, doc: str) -> str:
    """What the strategy is, its own params, an example, and the params of every tracker."""
    root = _root(cls)
    if cls is root:
        return plain_text(inspect.cleandoc(doc))
    text = plain_text(inspect.cleandoc(doc)).rstrip()
    example = f'Example:\n  cerebro.addstrategy({cls.__name__}, rebalance="weekly", max_weight=0.1)'
    between = [base for base in cls.__mro__[1:] if type(base) is type(cls)]
    return "\n\n".join([text, example, *filter(None, map(_params_of, between))])


def _params_of(base: Any) -> str:
    """The section on params of a class above, headed by its name."""
    _, _, section = plain_text(inspect.cleandoc(base.doc_source)).partition("\nParams")
    name = "every tracker" if base is _root(base) else base.__name__
    return f"Params of {name}:{section.partition(':')[2].rstrip()}" if section else ""


def _root(cls: Any) -> Any:
    """TrackerStrategy, which cannot be imported here."""
    return [base for base in cls.__mro__ if type(base) is type(cls)][-1]
