from tests.papertrade.alpaca.market import alpaca, keys
from tests.papertrade.harness import folder

__all__ = ["alpaca", "folder", "keys"]
