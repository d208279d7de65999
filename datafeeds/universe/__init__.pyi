from .index_weights import read_index_weights as read_index_weights
from .members import Spell as Spell
from .members import read_members as read_members
from .members import with_members as with_members
from .renames import Rename as Rename
from .renames import read_renames as read_renames
from .renames import rename as rename
from .sectors import read_sectors as read_sectors
