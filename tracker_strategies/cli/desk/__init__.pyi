from .held import HoldingsOptions as HoldingsOptions
