"""Benchmarks of whole runs: feeds, engine, replay, sweeps, pages, paper accounts, and how closely they track."""
