from .report import write_tuning as write_tuning
from .tuner import Tuning as Tuning
from .tuner import run_tuning as run_tuning
