"""``python -m tracker_strategies``: the command ``tracker``."""

from tracker_strategies.cli import main

if __name__ == "__main__":
    main()
