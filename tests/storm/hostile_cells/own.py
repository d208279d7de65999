"""A strategy that does what a cell should not do. It is loaded by its path, as a user's own is."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from tracker_strategies.strategies.passive_aggressive import PATracker


class Hostile(PATracker):
    """PA that ends in the way that ``act`` names, before its first bar; a number behind it tells cells apart."""

    alias_name = ""
    params = (("act", "nothing-0"), ("marks", ""))

    @classmethod
    def make_algorithm(cls, p, symbols, n_targets):
        """The learner, if it comes to that."""
        getattr(cls, f"_{p.act.partition('-')[0]}")(p)
        return super().make_algorithm(p, symbols, n_targets)

    @staticmethod
    def _nothing(p):
        """Behave."""

    @staticmethod
    def _segfault(p):
        ctypes.string_at(0)

    @staticmethod
    def _abort(p):
        os.abort()

    @staticmethod
    def _exit(p):
        os._exit(3)

    @staticmethod
    def _exit_quietly(p):
        os._exit(0)

    @staticmethod
    def _kill(p):
        os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def _raise(p):
        raise ValueError("not with me \udc80")

    @staticmethod
    def _leave(p):
        sys.exit("I am leaving")

    @staticmethod
    def _loop(p):
        while True:
            pass

    @staticmethod
    def _sleep(p):
        time.sleep(3600.0)

    @staticmethod
    def _hold(p):
        """In C, without ever letting another thread of Python run."""
        ctypes.PyDLL(None).sleep(3600)

    @staticmethod
    def _memory(p):
        kept = globals().setdefault("KEPT", [])
        while True:
            kept.append(np.empty(1 << 20))

    @staticmethod
    def _die_once(p):
        """The first time that anybody tries; then behave."""
        mark = Path(p.marks, f"died-{p.act}")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def _die_twice(p):
        """Killed the first time, as if somebody else were the cause; then in a way of its own."""
        Hostile._die_once(p)
        os.abort()
