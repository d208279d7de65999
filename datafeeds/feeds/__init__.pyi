from .clock import PanelClock as PanelClock
from .feed import PanelAssets as PanelAssets
from .feed import PanelFeed as PanelFeed
from .index_data import IndexData as IndexData
from .index_data import SingleIndexData as SingleIndexData
from .multi_index import MultiIndexData as MultiIndexData
