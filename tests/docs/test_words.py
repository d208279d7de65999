"""What a user reads is plain: patterns that readers had to read twice do not come back."""

import re
from pathlib import Path

import pytest

from tracker_strategies.cli import app
from tracker_strategies.cli.metavars import command_of

ROOT = Path(__file__).resolve().parents[2]
#: Pattern, and what to write instead.
PATTERNS = {
    r"\b(?:bps?|%|turnover|orders?|trades?|returns?|errors?|products?|points|traded) a (?:bar|day|year|week|line)\b": "per bar",
    r"\bhonest\b": "no look-ahead",
    r"\b[Ww]hom\b|\b[Nn]obody\b": "which, none, no candidate",
    r"\b[Ss]o many\b|\bso much (?:per|a)\b": "N, a given number",
    r"\b[Tt]rouble on purpose\b|\b[Aa]dd trouble\b": "inject faults",
    r"\bsurvives anything\b|\bnot be fooled\b|\bkinder\b|\bteaches nothing\b|\bis a wish\b": "the field's own term",
    r"\b[Bb]elieves? (?:a|an|it|large|nothing|moves)\b|\bnot believed\b": "accept, reject",
}
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.py")),
    *sorted((ROOT / "tracker_strategies/analysis/pages/templates").glob("*.html")),
]


def found(text):
    return [f"{match[0]!r}: write {instead}" for pattern, instead in PATTERNS.items() for match in re.finditer(pattern, text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_have_plain_words(page):
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}", "", page.read_text(encoding="utf-8"), flags=re.S)
    assert found(text) == []


def test_help_has_plain_words():
    def texts(command):
        yield command.help or ""
        yield from (getattr(param, "help", None) or "" for param in command.params)
        for below in getattr(command, "commands", {}).values():
            yield from texts(below)

    said = list(texts(command_of(app)))
    assert len(said) > 100
    assert found("\n".join(said)) == []


def test_the_patterns_find_what_they_are_for():
    assert len(found("12 bp a bar; Whom to ask; every so many sessions; honest; not believed")) == 5
    assert found("12 bp per bar; a bar of prices; a year of data") == []
