from .checking import attainable as attainable
from .checking import check as check
from .checking import unbuyable as unbuyable
