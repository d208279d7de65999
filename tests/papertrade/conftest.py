from tests.papertrade.alpaca_market import alpaca, keys
from tests.papertrade.harness import folder

__all__ = ["alpaca", "folder", "keys"]
