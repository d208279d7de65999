from .papers import Asked as Asked
from .papers import reproduce as reproduce
from .verdicts import all_claims as all_claims
from .verdicts import in_words as in_words
