"""What the command line costs before it works: ``tracker --help``, and refusals of words that cannot be right."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys

from benchmarks._measure import Report

ROUNDS = 15
#: A refusal may cost this much of what the help costs.
MOST = 1.5
HELP = ("--help",)
REFUSED = {
    "unknown strategy": ("run", "nonsense"),
    "unknown fill": ("run", "pa", "--fill", "yesterday"),
    "no key=value": ("run", "pa", "--param", "eps"),
    "unknown gaps": ("sweep", "pa", "--gaps", "perhaps"),
    "paper account": ("paper", "init", "account", "nonsense"),
}


def cpu(words: tuple[str, ...]) -> float:
    """CPU seconds of one command in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "tracker_strategies", *words], capture_output=True, env={**os.environ, "COLUMNS": "80"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> Report:
    report = Report("start_up")
    asked = {"help": HELP, **REFUSED}
    found: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(ROUNDS):  # in turn, so that a busy moment hits all alike
        for name, words in asked.items():
            found[name].append(cpu(words))
    base = statistics.median(found["help"])
    for name, seconds in found.items():
        middle = statistics.median(seconds)
        report.rows.append({"command": " ".join(("tracker", *asked[name])), "CPU-s": middle, "over help": middle / base})
        if name in REFUSED:
            report.claim(f"CPU of a refusal ({name}) / CPU of tracker --help", middle / base, at_most=MOST)
    return report
