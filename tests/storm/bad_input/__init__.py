"""The parts of the storms of bad input: files, states, and a Yahoo that lies."""
