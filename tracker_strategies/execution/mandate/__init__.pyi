from .limits import Group as Group
from .limits import Limits as Limits
from .mandate import Mandate as Mandate
