"""Sets of allowed weights and the projections on them."""
