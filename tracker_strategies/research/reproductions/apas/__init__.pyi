from .paper import reproduce_apas as reproduce_apas
from .tables import parts as parts
