"""What a user reads is plain: patterns that readers had to read twice do not come back."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from tests.docs.test_doctests import public_names
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
    r"\b[Bb]eside\b(?! : str)": "next to, besides, in addition to",
    r"\b(?:a|an|one) (?:\w+ )?\w+ of (?:its|your|our|their) own\b": "its own, separate",
    r"\b(?:be|been|is|are|was|were|has|not) told\b|\btold (?:from|by|apart)\b": "distinguish, recognise, notify",
    r"\bbp (?:per bar )?off\b|\boff the index\b": "TE, tracking error",
    r"\b[Gg]o(?:es)? on\b|\bwent on\b": "continue",
}
#: Pattern in what the code says: errors, warnings, logs and help.
MESSAGE_PATTERNS = {
    r"(?<!there )\b(?:is|are) no (?!longer\b|better\b|return\b|view\b)\w+": "is not a ...",
    r"\bstands? (?:twice|in the (?:markets|file)|\d+ times)\b": "appears",
    r"\b[Ll]eave (?:it|them|one|both|that|the (?:row|param|observer)) out\b(?! and)": "remove, omit",
    r"\bleft off\b": "dropped",
    r"\b[Mm]end (?:it|its|the|them)\b|\bwere mended\b": "correct",
    r"\b[Bb]ring (?:its|it|one|at|them|the|a|prices|bars)\b": "add, give",
    r"\banew\b": "again, from scratch",
    r"\bsuch (?:names|dates|holes)\)": "what they are: names without a sector, dates without a rate",
    r"\bspelt alike\b|\bcalled so\b|\bexchange them\b|\bas many as there should\b": "check the spelling, name it, swap",
    r"\b[Gg]oes on (?:from|with)\b|\b[Gg]o on (?:from|with)|\bto go on$": "continue",
    r"\b(?:[Ss]omebody|[Ww]hoever)\b": "at least one asset, all others",
    r"\bsay (?:it|so) (?:once|there|with)\b|\bsay which (?:with|it)\b|\bsays nothing without\b": "give, keep one, has no effect",
    r"(?:%|X|\bms) a (?:bar|day|year|week|round)\b(?! of)": "per bar",
    r"\bhand(?:ed)? (?:it |them )?over\b|\bhand one\b": "pass",
    r"\bask again later\b|\bhas nothing in column\b": "try again later, is empty in column",
}
#: Parts of the code whose messages are read for these patterns.
SOURCES = sorted(path for part in ("datafeeds", "indicators", "tracker_strategies") for path in (ROOT / part).rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.py")),
    *sorted((ROOT / "tracker_strategies/analysis/pages/templates").glob("*.html")),
]


def found(text, patterns=PATTERNS):
    return [f"{match[0]!r}: write {instead}" for pattern, instead in patterns.items() for match in re.finditer(pattern, text)]


def messages_in(source):
    """The texts of a module, docstrings and SQL aside; what an f-string fills in is X."""
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
            and "create table" not in node.value
        ):
            yield node.value


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


def test_messages_in_the_code_have_plain_words():
    wrong = {
        str(path.relative_to(ROOT)): odd
        for path in SOURCES
        if (
            odd := [
                one for text in messages_in(path.read_text(encoding="utf-8")) for one in found(text, PATTERNS | MESSAGE_PATTERNS)
            ]
        )
    }
    assert wrong == {}


def docstrings():
    """Of every public name, and of what is public in a class."""
    for name, thing in public_names():
        yield name, thing.__doc__
        for key, inner in vars(thing).items() if inspect.isclass(thing) else ():
            inner = getattr(inner, "__func__", getattr(inner, "fget", inner))
            if not key.startswith("_") and inspect.isfunction(inner):
                yield f"{name}.{key}", inner.__doc__ or ""


def test_docstrings_of_public_names_have_plain_words():
    assert {name: odd for name, text in docstrings() if (odd := found(text))} == {}


def test_the_patterns_find_what_they_are_for():
    assert len(found("12 bp a bar; Whom to ask; every so many sessions; honest; not believed")) == 5
    assert found("12 bp per bar; a bar of prices; a year of data") == []
    module = "\n".join(
        (
            "def f(day):",
            '    """Leave it out: this is no message."""',
            "    raise ValueError(f'{day!r} is no date; ' 'leave it out, or mend it')",
        )
    )
    assert [len(found(text, MESSAGE_PATTERNS)) for text in messages_in(module)] == [3]
    plain = "2024 is not a date; there is no price, and no split explains it; remove it, or continue with --keep"
    assert found(plain, MESSAGE_PATTERNS) == []
