from .constant import ConstantWeights as ConstantWeights
from .constant import PublishedShares as PublishedShares
from .static import StaticPortfolio as StaticPortfolio
