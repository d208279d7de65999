"""Studies around single runs: checks against look-ahead, replays, sweeps."""
