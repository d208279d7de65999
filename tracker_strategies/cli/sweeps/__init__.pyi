from .asking import app as app
from .asking import tune as tune
