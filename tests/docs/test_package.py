"""The package is fit to publish: what it declares is what it needs, what it ships is complete, and its types hold for a user."""

import configparser
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def declared():
    """Name and specifier of every requirement in setup.cfg, extras included."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    lists = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    lines = [line.strip() for text in lists for line in text.splitlines()]
    for line in lines:
        if line and not line.startswith(("#", "%")):
            name, specifier = re.fullmatch(r"([\w.-]+(?:\[\w+\])?)(.*)", line).groups()
            yield name.partition("[")[0].lower().replace("_", "-"), specifier


def test_the_oldest_versions_are_those_that_setup_cfg_declares():
    """`nox -s oldest` installs .ci/oldest.txt; it has to be the lower bounds, or the bounds are not tested."""
    bounds = {name: re.search(r"[>=]=([\w.]+)", specifier)[1] for name, specifier in declared() if "=" in specifier}
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    assert dict(line.split("==") for line in lines if line and not line.startswith("#")) == bounds


def test_an_upper_bound_has_its_reason_beside_it():
    text = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    for name, specifier in declared():
        if "<" in specifier or re.match(r"==", specifier):
            assert re.search(rf"^# {re.escape(name)}\b.*:", text, re.M | re.I), (
                f"{name}{specifier}: say why in a comment '# {name}: ...'"
            )


def test_one_version_everywhere():
    version = re.search(r"^version = (.*)$", (ROOT / "setup.cfg").read_text(encoding="utf-8"), re.M)[1]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_project_that_uses_the_packages_passes_mypy_strict(tmp_path):
    """From outside: the packages are found as installed ones are, so that only what py.typed and the stubs promise counts."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (site / "found.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    shutil.copy(ROOT / "tests" / "docs" / "typed_project.py", tmp_path)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "typed_project.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_gets_every_stub():
    """A folder without its stub has no names: they are loaded from it when they are first used."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    for package, patterns in config["options.package_data"].items():
        folder = ROOT / package
        shipped = {path for pattern in patterns.split(", ") for path in folder.glob(pattern.strip())}
        assert [str(path.relative_to(ROOT)) for path in folder.rglob("*.pyi") if path not in shipped] == []


@pytest.mark.slow
def test_wheel_and_source_distribution_are_complete(tmp_path):
    """The source distribution is the repository; the wheel has every module, stub, template and sample."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout: the list of files is not known")
    copy = tmp_path / "source"
    for name in tracked.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "-c", "from setuptools.build_meta import *; build_sdist('dist'); build_wheel('dist')"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (sdist,), (wheel,) = (copy / "dist").glob("*.tar.gz"), (copy / "dist").glob("*.whl")
    with tarfile.open(sdist) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted(set(tracked.stdout.splitlines()) - shipped - {".gitignore"}) == []
    with zipfile.ZipFile(wheel) as archive:
        installed = set(archive.namelist())
    packages = [
        name for name in tracked.stdout.splitlines() if name.startswith(("datafeeds/", "indicators/", "tracker_strategies/"))
    ]
    assert sorted(set(packages) - installed) == []
