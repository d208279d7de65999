from .market import ExchangeRate as ExchangeRate
from .market import Market as Market
from .sessions import SessionReport as SessionReport
from .sessions import check_sessions as check_sessions
from .sessions import expected_sessions as expected_sessions
from .sessions import session_hours as session_hours
from .union_calendar import join_markets as join_markets
