from .batch import SparsePLSFit as SparsePLSFit
from .batch import sparse_pls as sparse_pls
from .cross_validation import SparsePLSChoice as SparsePLSChoice
from .cross_validation import choose_sparse_pls as choose_sparse_pls
from .factor_count import FactorCount as FactorCount
from .online import SparsePLS as SparsePLS
from .thresholding import sparsify as sparsify
