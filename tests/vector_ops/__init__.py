"""What runs each vector: one function per (family, op), registered by the modules of this package."""

from tests.vector_ops import bounds, metrics, pa, projections
from tests.vector_ops.registry import OPS, check_case, load_family, vector_directory

__all__ = ["OPS", "bounds", "check_case", "load_family", "metrics", "pa", "projections", "vector_directory"]
