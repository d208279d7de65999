"""What runs each vector: one function per (family, op), registered by the modules of this package."""

from tests.vector_ops import (
    adagrad,
    adagrad_bounds,
    apas,
    bounds,
    comparators,
    gradient_comparators,
    heavy_tailed,
    metrics,
    pa,
    pls_rivals,
    projections,
    prox,
    spls,
    vaw,
    vaw_bounds,
)
from tests.vector_ops.registry import OPS, check_case, load_family, vector_directory

__all__ = [
    "OPS",
    "adagrad",
    "adagrad_bounds",
    "apas",
    "bounds",
    "check_case",
    "comparators",
    "gradient_comparators",
    "heavy_tailed",
    "load_family",
    "metrics",
    "pa",
    "pls_rivals",
    "projections",
    "prox",
    "spls",
    "vaw",
    "vaw_bounds",
    "vector_directory",
]
