"""Storms: very many random cases, judged by arithmetic of their own. ``python -m tests.storm mandates --count 500 --seed 1``."""
