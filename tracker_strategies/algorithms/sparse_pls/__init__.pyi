from .batch import SparsePLSChoice as SparsePLSChoice
from .batch import SparsePLSFit as SparsePLSFit
from .batch import choose_sparse_pls as choose_sparse_pls
from .batch import sparse_pls as sparse_pls
from .factor_count import FactorCount as FactorCount
from .online import SparsePLS as SparsePLS
from .thresholding import sparsify as sparsify
