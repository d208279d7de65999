from .rounding import round_lots as round_lots
