"""Docstrings in the markup of Sphinx, as the code has them, turned into Markdown for the reference pages."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

from griffe import Extension

_BLOCK = re.compile(r"^( *)\.\. math::[ ]?(.*)\n((?:(?:\1[ ]+\S.*)?\n)*)", re.M)
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?([^`]+)`")
#: "ndarray, shape (N,)" would be read as an expression of Python: a tuple with a call of shape.
_SHAPE = re.compile(r"^( *(?:[\w*, ]+ : )?[\w ]+), shape \(", re.M)
_LIST = re.compile(r"^( *)(\S.*:)\n(\1 {0,2}- )", re.M)


def markdown(text: str) -> str:
    """The text with formulas between dollars, names as code, and an empty line before each list."""

    def formula(found: re.Match[str]) -> str:
        lines = [line.strip() for line in (found[2], *found[3].splitlines())]
        return f"\n{found[1]}$$\n{found[1]}" + " ".join(line for line in lines if line) + f"\n{found[1]}$$\n\n"

    text = _BLOCK.sub(formula, text + "\n")
    text = re.sub(r":math:`([^`]+)`", lambda found: f"${' '.join(found[1].split())}$", text)
    text = _SHAPE.sub(r"\1 of shape (", text)
    text = _ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", text)
    return _LIST.sub(r"\1\2\n\n\3", text).rstrip()


class DocstringMarkup(Extension):
    """Applied to every docstring as it is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Translate the docstring of an object, once. That of a Strategy is completed from its learner when it is made."""
        if obj.is_class and obj.docstring and obj.path.startswith("tracker_strategies.strategies."):
            made = getattr(import_module(obj.module.path), obj.name)
            obj.docstring.value = inspect.cleandoc(vars(made).get("doc_source") or made.__doc__)
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
