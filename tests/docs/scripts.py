"""Scripts that the documentation shows, inside the process of the tests."""

import io
import runpy
import sys
from contextlib import redirect_stdout

import pytest


def printed(script, cwd):
    """What a script prints that is run in a folder of its own, as ``python script`` would run it."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", [str(script)])
        patch.setenv("MPLBACKEND", "Agg")
        runpy.run_path(str(script), run_name="__main__")
    return said.getvalue()
