"""The reference of the command line, made from the commands themselves when the site is built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tracker_strategies.cli import app
from tracker_strategies.cli.metavars import command_of

_ABOUT = """# Commands

Every command of `tracker` with its arguments and options, as `--help` prints them. `tracker --install-completion` adds completion
to your shell.

"""


def commands_page() -> str:
    """The page, in Markdown."""
    return _ABOUT + "\n".join(_sections("tracker", command_of(app)))


def _sections(name: str, command: Any) -> Iterator[str]:
    """The section of a command, then those of its own commands."""
    below = getattr(command, "commands", {})
    if not below or command.params:
        yield f"## {name}\n"
        yield _text(command.help) + "\n"
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option" and not param.hidden]
    if arguments:
        yield "| argument | meaning |\n|---|---|"
        yield from (f"| `{_called(param)}` | {_cell(param.help)} |" for param in arguments)
        yield ""
    if options:
        yield "| option | default | meaning |\n|---|---|---|"
        yield from (f"| `{_called(param)}` | {_default(param)} | {_cell(param.help)} |" for param in options)
        yield ""
    for inner, one in below.items():
        yield from _sections(f"{name} {inner}", one)


def _called(param: Any) -> str:
    if param.param_type_name == "argument":
        return str(param.metavar or param.name.upper())
    flag = getattr(param, "is_flag", False)
    value = "" if flag else f" {param.metavar}"
    return f"{', '.join(param.opts)}{value}".replace("|", "\\|")


def _default(param: Any) -> str:
    value = param.default
    return "" if value is None or value is False or value == [] or callable(value) or "UNSET" in repr(value) else f"`{value}`"


def _text(text: str | None) -> str:
    """Help without the marks of the terminal."""
    return re.sub(r"\[/?[a-z]*\]", "", (text or "").strip())


def _cell(text: str | None) -> str:
    return _text(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
