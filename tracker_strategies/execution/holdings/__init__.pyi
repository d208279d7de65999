from .account import Account as Account
from .spelling import Spelling as Spelling
