"""What the site needs beyond Markdown files: pages made from the notebooks and the project's own files, and formulas as MathML.

MkDocs calls these functions (`hooks` in mkdocs.yml). Formulas become MathML when the site is built, so that pages need neither
scripts nor fonts to show them.
"""

from __future__ import annotations

import base64
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))  # MkDocs runs this file by its path
from command_pages import commands_page

ROOT = Path(__file__).resolve().parents[2]
_MATH = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S)
#: Commands that the converter does not know, in terms of those that it does.
_SYNONYMS = {r"\arg\min": r"\operatorname{arg min}", r"\arg\max": r"\operatorname{arg max}", r"\operatorname*": r"\operatorname"}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made here."""
    for source in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for name, content in notebook_page(source):
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    for name in ("CHANGELOG", "CONTRIBUTING"):
        text = (ROOT / f"{name}.md").read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, f"{name.lower()}.md", content=text))
    files.append(File.generated(config, "api/commands.md", content=commands_page()))
    return files


def notebook_page(source: Path) -> Iterator[tuple[str, Any]]:
    """The page of a notebook and its pictures, as names and contents."""
    lines: list[str] = []
    for number, cell in enumerate(json.loads(source.read_text(encoding="utf-8"))["cells"]):
        text = "".join(cell["source"])
        lines += [text] if cell["cell_type"] == "markdown" else [f"```python\n{text}\n```"]
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{source.stem}_{number}.png"
                yield picture, base64.b64decode(data["image/png"])
                lines.append(f"![What the code above draws]({picture})")
            else:
                shown = "".join(output.get("text", data.get("text/plain", "")))
                lines.append(f"```text\n{shown.rstrip()}\n```")
    yield f"{source.stem}.md", "\n\n".join(lines)


def on_page_content(page_html: str, **_: Any) -> str:
    """Replace every formula in TeX by MathML."""

    def mathml(found: re.Match[str]) -> str:
        tex = html.unescape(found[2]).strip()
        for unknown, known in _SYNONYMS.items():
            tex = tex.replace(unknown, known)
        return convert(tex, display="block" if found[1] == "div" else "inline")

    return _MATH.sub(mathml, page_html)
