from .headers import Head as Head
from .headers import Header as Header
from .paired_dates import Block as Block
