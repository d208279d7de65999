"""Side information: what a portfolio may prefer beside tracking, and its proximal steps."""
