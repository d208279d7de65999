"""From history to a decision."""
