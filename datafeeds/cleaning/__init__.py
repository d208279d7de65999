"""Bad prices: found, reported, mended."""
