"""The passive-aggressive family as Strategies."""
