"""What stands for a value in the help of an option: NUMBER or N, and never the name of a Python type."""

from __future__ import annotations

from typing import Any, get_args

import typer

_WORDS = {float: "NUMBER", int: "N", str: "TEXT"}
#: The same kinds as click calls them, in versions of typer that are built on it.
_OF_CLICK = {"float": "NUMBER", "integer": "N", "text": "TEXT"}


def command_of(app: typer.Typer) -> Any:
    """The command of an app, with help in which every value has a word and no flag has a type."""
    command = typer.main.get_command(app)
    _walk(command)
    return command


def _walk(command: Any) -> None:
    for param in command.params:
        _name_value(param)
    made = command.get_help_option
    command.get_help_option = lambda ctx: _name_value(made(ctx))
    for below in getattr(command, "commands", {}).values():
        _walk(below)


def _name_value(param: Any) -> Any:
    """Give a parameter a word for its value where it has none, and hide the type that newer versions of typer would show."""
    if param.param_type_name == "argument":
        param.metavar = param.metavar or param.name.upper()
    elif not getattr(param, "is_flag", False):
        param.metavar = param.metavar or _word(param)
    word = param.metavar if param.param_type_name == "option" else None
    param.display_type_rich = lambda ctx: word
    return param


def _word(param: Any) -> str | None:
    described = getattr(param, "type_descriptor", None)
    if described is None:
        return _OF_CLICK.get(param.type.name)
    kinds = {described.annotation, *get_args(described.annotation)}
    return next((word for known, word in _WORDS.items() if known in kinds), None)
