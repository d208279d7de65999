"""What can be done to any learner: other coordinates, a tilt, costs, fewer names."""
