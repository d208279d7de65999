"""The help of every command is for people: words for values, no Python types, no marks of a documentation tool."""

import re

import pytest

from tests.cli.commands import tracker
from tracker_strategies.cli import app
from tracker_strategies.cli.metavars import command_of


def commands(name, command):
    yield name
    for inner, below in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {inner}".strip(), below)


EVERY = list(commands("", command_of(app)))


def test_every_option_that_takes_a_value_has_a_word_for_it():
    def unnamed(command):
        for param in command.params:
            if not getattr(param, "is_flag", False) and not param.metavar:
                yield f"{command.name} {param.name}"
        for below in getattr(command, "commands", {}).values():
            yield from unnamed(below)

    assert list(unnamed(command_of(app))) == []


@pytest.mark.parametrize("name", ["", "run", "sweep run", "paper init", "fetch"])
def test_help_shows_no_types_and_no_markup(name):
    assert name in EVERY
    shown = tracker(*name.split(), "--help").stdout
    assert "Usage: tracker" in shown
    assert not re.search(r"<(?:str|int|float|bool|list)\b|:class:|:func:|``|\[/\w*\]", shown)


def test_the_list_of_strategies_shows_no_markup():
    shown = tracker("list").stdout
    assert "ensemble" in shown
    assert not re.search(r":class:|:func:|``|~tracker", shown)
