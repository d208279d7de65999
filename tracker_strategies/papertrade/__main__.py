"""``python -m tracker_strategies.papertrade``: the commands of ``tracker paper``."""

from tracker_strategies.papertrade.cli import main

if __name__ == "__main__":
    main()
