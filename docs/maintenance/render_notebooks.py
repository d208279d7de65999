"""Run the notebooks and keep what they show: notebooks/*.py are the source, the .ipynb beside them is made from it.

python docs/maintenance/render_notebooks.py [NAME ...]      (or `make notebooks`; extra `notebooks`)

Each runs in a kernel of its own, in an empty folder. What would differ from run to run (times, ids, versions of the kernel) is
left out; a message on stderr is an error, so that no warning gets into a notebook.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]


def rendered(source: Path) -> Any:
    """The notebook of a percent script, executed."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for position, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{position}", {}
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook, timeout=300, record_timing=False, coalesce_streams=True, resources={"metadata": {"path": folder}}
        ).execute()
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                raise SystemExit(f"{source.name} writes to stderr:\n{output['text']}")
    return notebook


def main(names: list[str]) -> None:
    """Render some notebooks, or all."""
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for source in sorted((ROOT / "notebooks").glob("*.py")):
        if not names or source.stem in names:
            target = source.with_suffix(".ipynb")
            nbformat.write(rendered(source), target)
            print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
