from .page import write_leaderboard as write_leaderboard
from .run import check_folder as check_folder
from .run import entrants as entrants
from .run import market_name as market_name
from .run import open_markets as open_markets
from .run import run_leaderboard as run_leaderboard
