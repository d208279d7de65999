"""What has to pass before a release, on every interpreter that is installed: `make matrix`, or `nox -s oldest` for one of them.

The hosted checks (.github/workflows/ci.yml) run the same sessions, so that nothing passes there which does not pass here.
"""

from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13"]
#: Tests that need neither a browser, nor signals and processes as Linux has them.
PORTABLE = ("algorithms", "analysis", "datafeeds", "execution", "indicators", "strategies", "test_layout.py")

nox.options.sessions = ["tests", "oldest", "package", "docs"]
nox.options.error_on_missing_interpreters = False  # those that are missing are named, and skipped


def quick(session: nox.Session, *more: str) -> None:
    """The quick tests, in parallel, or those that were named after `--`."""
    session.run("python", "-m", "pytest", "-q", "-n", "auto", "--dist", "loadgroup", "-m", "not slow", *(session.posargs or more))


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The types, which a newer numpy or scipy may tell otherwise, and the quick tests, with the newest versions of everything."""
    session.install("-e", ".[dev]")
    session.run("python", "-m", "mypy")
    quick(session)


@nox.session(python=PYTHONS)
def portable(session: nox.Session) -> None:
    """The tests that are pure Python: for macOS and Windows."""
    session.install("-e", ".[dev]")
    quick(session, *(f"tests/{name}" for name in PORTABLE))


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """The quick tests with the oldest versions that setup.cfg declares."""
    session.install("-c", ".ci/oldest.txt", "-e", ".[dev]")
    quick(session)


@nox.session(python=PYTHONS[-1])
def prereleases(session: nox.Session) -> None:
    """The quick tests with versions that are not released yet. It may fail, and then says what is coming."""
    session.install("--pre", "-e", ".[dev]")
    quick(session)


@nox.session(python=PYTHONS)
def package(session: nox.Session) -> None:
    """Wheel and source distribution: built, checked, and tried outside the clone, as somebody who installs them has them."""
    place = Path(session.create_tmp()).resolve()
    dist = place / "dist"
    clone = Path.cwd()
    session.install("build", "twine")
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)
    (wheel,), (sdist,) = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    session.install("--force-reinstall", f"{wheel}[report]", "mypy", "pytest")
    session.chdir(place)
    session.run("tracker", "demo", "--out", str(place / "demo"), "--force")
    # A user's project sees only what is installed.
    Path("project.py").write_text((clone / "tests" / "docs" / "typed_project.py").read_text(encoding="utf-8"), encoding="utf-8")
    session.run("python", "-m", "mypy", "--strict", "project.py")
    session.run("tar", "xzf", str(sdist), external=True)
    session.chdir(place / sdist.name.removesuffix(".tar.gz"))
    session.install("hypothesis", "pytest-xdist")
    session.run(
        "python", "-m", "pytest", "-q", "-n", "0", "tests/algorithms/sets", "tests/datafeeds/readers", "tests/test_layout.py"
    )


@nox.session(python=PYTHONS[0])
def docs(session: nox.Session) -> None:
    """The site, in which a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("python", "-m", "mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})
