"""Scripts that the documentation shows, inside the process of the tests."""

import io
import runpy
import sys
from contextlib import redirect_stdout

import matplotlib.pyplot as plt
import pytest


def printed(script, cwd):
    """What a script prints that is run in a folder of its own, as ``python script`` would run it."""
    said, open_before = io.StringIO(), set(plt.get_fignums())
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", [str(script)])
        patch.setenv("MPLBACKEND", "Agg")
        runpy.run_path(str(script), run_name="__main__")
    for number in set(plt.get_fignums()) - open_before:  # a process of its own would have ended with them
        plt.close(number)
    return said.getvalue()
