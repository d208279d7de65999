from .depth import Depth as Depth
from .liquidity import Liquidity as Liquidity
from .market_fills import MarketFills as MarketFills
