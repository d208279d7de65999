from .events import MarketEvent as MarketEvent
from .market import SyntheticMarket as SyntheticMarket
from .market import index_names as index_names
from .market import simulate_market as simulate_market
from .market import synthetic_market as synthetic_market
