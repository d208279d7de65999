from .choosing import Chosen as Chosen
from .choosing import choose as choose
