from .held import HoldingsOptions as HoldingsOptions
from .orders import OrderOptions as OrderOptions
