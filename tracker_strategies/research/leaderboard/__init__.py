"""All strategies on the same markets, beside rivals."""
