"""The order of the house: one direction of dependencies down to folders, folders one can see through, public names said once."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("datafeeds", "indicators", "tracker_strategies")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
FAMILIES = ("passive_aggressive", "gradient", "vaw", "least_squares", "regression", "sparse_pls", "baselines")

#: From the bottom to the top. A file may import its own folder and what stands on lines below its own; names on one line do not
#: know each other, unless one of them is a folder of the other's.
ORDER = [
    "datafeeds/errors.py datafeeds/log.py",
    "datafeeds/bar_length.py",
    "datafeeds/choices.py datafeeds/texts.py datafeeds/files.py datafeeds/locks.py datafeeds/calendars.py",
    "datafeeds/checks.py",
    "datafeeds/adjustment.py datafeeds/wide_frames.py",
    "datafeeds/panel.py",
    "datafeeds/cleaning datafeeds/readers datafeeds/synthetic datafeeds/resampling.py",
    "datafeeds/universe",
    "datafeeds/yahoo",
    "datafeeds/index_levels.py",
    "datafeeds/sources.py",
    "datafeeds/markets",
    "datafeeds/market_source.py",
    "datafeeds/feeds",
    "tracker_strategies/errors.py tracker_strategies/_version.py",
    "tracker_strategies/_checks.py",
    "tracker_strategies/algorithms/_validation.py",
    "tracker_strategies/algorithms/_kinds.py tracker_strategies/algorithms/_names.py",
    "tracker_strategies/algorithms/_state.py",
    "tracker_strategies/algorithms/_stateful.py",
    "tracker_strategies/algorithms/registration.py tracker_strategies/algorithms/targets.py",
    "tracker_strategies/algorithms/numerics",
    "tracker_strategies/algorithms/sets",
    "tracker_strategies/algorithms/side",
    "tracker_strategies/algorithms/base.py",
    "tracker_strategies/algorithms/wrapper.py",
    *(
        f"tracker_strategies/algorithms/{family}"
        for family in ("passive_aggressive", "gradient", "vaw", "least_squares", "regression")
    ),
    "tracker_strategies/algorithms/sparse_pls",  # a regression on factors
    "tracker_strategies/algorithms/baselines",  # one of them fits once what the regressions fit always
    "tracker_strategies/algorithms/share_counts",
    "tracker_strategies/algorithms/voting",
    "tracker_strategies/algorithms/wrappers",
    "tracker_strategies/execution",
    "tracker_strategies/strategies",
    "tracker_strategies/analysis",
    "indicators",
    "tracker_strategies/_fingerprint.py tracker_strategies/runner.py",
    "tracker_strategies/research tracker_strategies/papertrade",
    "tracker_strategies/desk",
    "tracker_strategies/testing tracker_strategies/cli",
    "tracker_strategies/__main__.py",
]
LEVEL = {place: level for level, line in enumerate(ORDER) for place in line.split()}
#: Families that know nothing of each other, though they stand on lines of their own.
STRANGERS = {
    f"tracker_strategies/algorithms/{family}"
    for family in ("passive_aggressive", "gradient", "vaw", "least_squares", "regression")
}


def place_of(path):
    """The entry of ORDER that a file belongs to; none for the `__init__` files of packages that hold several."""
    name = path.relative_to(ROOT).as_posix()
    return max((place for place in LEVEL if name == place or name.startswith(place + "/")), key=len, default=None)


def file_of(module):
    place = ROOT / module.replace(".", "/")
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


def imports(path):
    """Files of this project that a file imports, wherever in it; types alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    only_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node not in only_types:
            for alias in node.names:
                found = file_of(f"{node.module}.{alias.name}") or file_of(node.module)
                if found is not None:
                    yield found


def test_every_file_has_its_place_in_the_order():
    loose = [path.relative_to(ROOT).as_posix() for path in FILES if place_of(path) is None and path.name != "__init__.py"]
    assert not loose


def test_dependencies_go_one_way():
    wrong = []
    for path in FILES:
        here = place_of(path)
        for other in imports(path):
            there = place_of(other)
            if here is None or there is None or here == there:
                continue
            if LEVEL[there] >= LEVEL[here] or {here, there} <= STRANGERS:
                wrong.append(f"{path.relative_to(ROOT)} imports {other.relative_to(ROOT)}")
    assert not wrong


def test_nobody_inside_imports_the_root():
    """It names things from all floors: whoever imports it from inside has every floor above him."""
    root = ROOT / "tracker_strategies" / "__init__.py"
    above = ("tracker_strategies/cli/", "tracker_strategies/testing/", "tracker_strategies/__main__.py")
    inside = [path.relative_to(ROOT).as_posix() for path in FILES if path != root and root in imports(path)]
    assert not [name for name in inside if not name.startswith(above)]


def test_private_files_are_used_in_their_own_folder():
    wrong = [
        f"{path.relative_to(ROOT)} imports {other.relative_to(ROOT)}"
        for path in FILES
        for other in imports(path)
        if other.stem.startswith("_") and other.name != "__init__.py" and not path.is_relative_to(other.parent)
    ]
    assert not wrong


@pytest.mark.parametrize("where", [*PACKAGES, "tests", "benchmarks", "docs", "notebooks"])
def test_a_folder_shows_its_parts_at_a_glance(where):
    many = {}
    for folder in {path.parent for path in (ROOT / where).rglob("*") if path.suffix in (".py", ".md")}:
        files = [p for p in folder.iterdir() if p.suffix in (".py", ".md") and p.name not in ("__init__.py", "conftest.py")]
        if len(files) > 16:
            many[folder.relative_to(ROOT).as_posix()] = len(files)
    assert not many


def test_families_have_the_same_names_everywhere():
    for family in (*FAMILIES, "share_counts"):
        for place in ("tracker_strategies/algorithms", "tracker_strategies/strategies"):
            assert (ROOT / place / family).is_dir(), f"{place}/{family}"
        assert (ROOT / "docs" / "api" / "families" / f"{family}.md").is_file(), family
    tested = {p.name for p in (ROOT / "tests" / "algorithms").iterdir() if p.is_dir() and not p.name.startswith("_")}
    assert tested <= {*FAMILIES, "share_counts", "voting", "wrappers", "numerics", "sets", "side"}


def test_only_the_command_line_prints():
    """Nothing below cli/ imports typer or rich, or prints."""
    wrong = []
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("tracker_strategies/cli/"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [module or ""]
            if any(n.split(".")[0] in ("typer", "rich") for n in names):
                wrong.append(f"{name}:{node.lineno} imports {names}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                wrong.append(f"{name}:{node.lineno} prints")
    assert not wrong


# -- public names ----------

FACES = sorted(path.parent for package in PACKAGES for path in (ROOT / package).rglob("__init__.py"))


@pytest.mark.parametrize("face", FACES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_package_says_its_public_names_once(face):
    name = ".".join(face.relative_to(ROOT).parts)
    if name == "tracker_strategies.cli":
        return  # a program, nothing to import
    package = importlib.import_module(name)
    assert package.__doc__
    assert package.__all__
    assert len(set(package.__all__)) == len(package.__all__)
    assert set(dir(package)) >= set(package.__all__)
    for public in package.__all__:
        assert hasattr(package, public), public
        beside = face / f"{public}.py", face / public / "__init__.py"
        found = getattr(package, public)
        assert not any(p.is_file() for p in beside) or type(found).__name__ == "module", f"{public}: a module and something else"


def test_every_strategy_can_be_imported_from_the_root():
    import tracker_strategies
    from tracker_strategies.strategies import STRATEGIES

    assert {cls.__name__ for cls in STRATEGIES} <= set(tracker_strategies.__all__)
    assert tracker_strategies.__version__


def loaded_by(module):
    code = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split())


def test_the_mathematics_needs_no_pandas_and_no_backtrader():
    learners = ", ".join(
        f"tracker_strategies.algorithms.{family}" for family in (*FAMILIES, "share_counts", "voting", "wrappers")
    )
    assert not loaded_by(learners) & {"pandas", "backtrader", "matplotlib"}


def test_the_command_line_starts_without_heavy_imports():
    assert not loaded_by("tracker_strategies.cli") & {"numpy", "pandas", "backtrader", "matplotlib", "quantstats"}


def test_no_module_has_outgrown_a_reader():
    long = {path.relative_to(ROOT): n for path in FILES if (n := len(path.read_text().splitlines())) > 300}
    assert not long


def test_every_benchmark_can_be_listed():
    output = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    for name in ("engine", "feeds", "replay", "scaling", "whole_run"):
        assert re.search(rf"\b{name}\b", output)
    refused = subprocess.run([sys.executable, "-m", "benchmarks", "nonsense"], capture_output=True, text=True, cwd=ROOT)
    assert refused.returncode == 2
    assert "nonsense" in refused.stderr
