"""Files of prices, read into panels."""
