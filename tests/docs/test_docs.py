"""The documentation holds together: links resolve, names exist, every public name has its place, and the site builds."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md")) + [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"!?\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]\(([^)\s]+)\)")
#: Pages that the site makes from other files.
MADE = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def anchors(path):
    """Anchors of the headings of a page, as MkDocs and GitHub name them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower().replace(" ", "-") for heading in headings}


def file_of(page, link):
    """The file in this repository that a relative link means."""
    made = os.path.relpath((page.parent / link).resolve(), DOCS)
    if page.is_relative_to(DOCS) and made in MADE:
        return ROOT / MADE[made]
    if page.is_relative_to(DOCS) and made.startswith("notebooks/"):
        return (ROOT / made).with_suffix(".ipynb")
    return (page.parent / link).resolve()


def test_the_tests_and_storms_of_the_promises_exist():
    page = (DOCS / "work" / "promises.md").read_text(encoding="utf-8")
    tests = re.findall(r"`(tests/[^`]+)`", page)
    assert len(tests) > 15
    assert [name for name in tests if not (ROOT / name).exists()] == []
    storms = [row.split("|")[-2].strip(" `") for row in page.splitlines() if row.startswith("| ")][1:]
    assert [name for name in storms if name and name != "---" and not (ROOT / "tests" / "storm" / f"{name}.py").exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_inside_resolves(page):
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+://", link):
            continue
        path, _, anchor = link.partition("#")
        target = file_of(page, path) if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md" and "api" not in target.parts:  # those of the reference are made by the site
            assert anchor in anchors(target), link


def resolve(name):
    """The object of a dotted name: a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(name)


def names_of_the_papers():
    """Prefix and dotted name of everything that the tables of the page name as code or test."""
    for line in (DOCS / "evidence" / "papers.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) in (3, 4):
            for prefix, cell in zip(("tracker_strategies", "tests"), cells[-2:], strict=True):
                yield from ((prefix, name) for name in re.findall(r"`([a-z_]+\.[\w.]+)`", cell))


def test_every_function_and_test_on_the_page_about_the_papers_exists():
    named = list(names_of_the_papers())
    assert len(named) > 130
    for prefix, name in named:
        thing = resolve(f"{prefix}.{name}")
        assert thing.__doc__ or prefix == "tests", name
    code = {name for prefix, name in named if prefix == "tracker_strategies"}
    for learner in ("PA", "PAS", "APAS", "AdaGrad", "SparsePLS", "DiscountedVAW", "AdaptiveDiscount", "Holdings", "Vote"):
        assert any(name.endswith(f".{learner}") for name in code), learner


def test_every_module_that_cites_one_of_the_papers_is_on_the_page_about_them():
    authors = re.compile(r"Crammer, Dekel|Shi, Ying|Duchi, Hazan|McWilliams|Jacobsen, Cutkosky")
    code = {name for prefix, name in names_of_the_papers() if prefix == "tracker_strategies"}
    top = ROOT / "tracker_strategies"
    for path in (top / "algorithms").rglob("*.py"):
        if authors.search(path.read_text(encoding="utf-8")):
            module = ".".join(path.relative_to(top).with_suffix("").parts)
            assert any(name.startswith(f"{module}.") for name in code), module


PACKAGES = ["datafeeds", "indicators"] + [
    "tracker_strategies" + part for part in ("", ".algorithms", ".papertrade", ".research.sweeps", ".testing")
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package):
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").rglob("*.md"))
    shown = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)", text, re.M)}
    face = importlib.import_module(package)
    folders = {name for name in face.__all__ if type(getattr(face, name)).__name__ == "module"}
    assert set(face.__all__) - folders - {"__version__"} <= shown


@pytest.mark.parametrize("page", sorted((DOCS / "api").rglob("*.md")), ids=lambda path: path.stem)
def test_every_name_of_the_reference_exists(page):
    names = re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.M)
    assert names
    for name in names:
        assert resolve(name).__doc__, name


def test_every_strategy_is_named_where_one_chooses():
    from tracker_strategies.strategies import STRATEGIES

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api" / "families").glob("*.md"))
    for cls in STRATEGIES:
        assert f"`{cls.alias_name}`" in readme
        assert f".{cls.__name__}\n" in page + "\n"


#: Classes on the pages that belong to other projects.
OF_OTHERS = {"BenchmarkTracker": "skfolio", "KilledWorker": "dask"}
SUBPACKAGES = ("algorithms", "papertrade", "testing")
PUBLIC = ("tracker_strategies", "datafeeds", "indicators", *(f"tracker_strategies.{part}" for part in SUBPACKAGES))
HOST = ("backtrader", "backtrader.feeds", "backtrader.analyzers", "backtrader.observers", "backtrader.indicators")
IMPORT = re.compile(r"^\s*from ((?:tracker_strategies|datafeeds|indicators)[\w.]*) import \(?([\w, ]+)", re.M)
CAMEL = re.compile(r"[A-Z][a-z]*[A-Z]?\w*[a-z]\w*")


def named_in_code(text):
    """Classes and dotted names of our packages in backticks, without arguments."""
    for token in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        name = re.sub(r"\(.*\)$", "", token).rstrip(".")
        head = name.partition(".")[0]
        if re.fullmatch(r"[A-Za-z_][\w.]*", name) and (CAMEL.fullmatch(head) or head in PUBLIC):
            yield name


def attribute(thing, names):
    for name in names:
        thing = getattr(thing, name)
    return thing


def found(name):
    """Whether a name of the pages can be imported from where a user would: one of the packages, or backtrader."""
    head, *rest = name.split(".")
    if head in PUBLIC:
        return resolve(name) is not None
    homes = [module for module in map(importlib.import_module, (*PUBLIC, *HOST)) if hasattr(module, head)]
    return any(attribute(getattr(module, head), rest) is not None for module in homes)


@pytest.mark.parametrize("page", [p for p in PAGES if "api" not in p.parts], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_class_and_import_that_a_page_names_can_be_imported(page):
    text = page.read_text(encoding="utf-8")
    if page.name == "CHANGELOG.md":
        text = text.split("\n## ", 2)[1]  # older entries tell of names that may be gone
    for name in named_in_code(text):
        assert name in OF_OTHERS or found(name), f"{page.name} names {name}"
    for module, names in IMPORT.findall(text):
        for name in names.replace(",", " ").split():
            assert hasattr(importlib.import_module(module), name), f"{page.name}: from {module} import {name}"


def test_every_strategy_can_be_imported_from_the_package():
    import tracker_strategies
    from tracker_strategies.strategies import STRATEGIES

    for cls in STRATEGIES:
        assert getattr(tracker_strategies, cls.__name__) is cls
        assert cls.__name__ in tracker_strategies.__all__


def test_pictures_are_used_and_light():
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    pictures = list((DOCS / "images").iterdir())
    assert all(f"images/{picture.name}" in text for picture in pictures)
    assert sum(picture.stat().st_size for picture in pictures) < 1_500_000


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: extra 'docs'")
def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert not re.findall(r"^(?:WARNING|ERROR).*", done.stderr, re.M)
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {"index.html", "api/algorithms.html", "notebooks/quickstart.html", "changelog.html"} <= set(pages)
    for name, text in pages.items():
        loaded = re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]*)"', text) + re.findall(
            r'<link\b(?![^>]*\brel="canonical")[^>]*\bhref="([^"]*)"', text
        )
        assert not [url for url in loaded if re.match(r"(?:https?:)?//", url)], name
        assert not re.search(r":(?:class|func|meth|mod|math|data|attr):`|\.\. math::|class=\"arithmatex\"", text), name
    families = [text for name, text in pages.items() if name.startswith("api/families/")]
    assert len(families) == 9
    assert sum(text.count("<math") for text in families) > 150
    assert not [name for name, text in pages.items() if re.search(r"<mi>\\", text)], "a formula has an unknown command"
