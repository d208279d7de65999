from .informed import check_weights as check_weights
from .published import Published as Published
from .published import settled_weights as settled_weights
