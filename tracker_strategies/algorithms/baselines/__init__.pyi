from .constant import ConstantWeights as ConstantWeights
from .static import StaticPortfolio as StaticPortfolio
