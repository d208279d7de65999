"""What runs each vector: one function per (family, op), registered by the modules of this package."""

from tests.vector_ops import apas, bounds, comparators, metrics, pa, projections, prox
from tests.vector_ops.registry import OPS, check_case, load_family, vector_directory

__all__ = [
    "OPS",
    "apas",
    "bounds",
    "check_case",
    "comparators",
    "load_family",
    "metrics",
    "pa",
    "projections",
    "prox",
    "vector_directory",
]
