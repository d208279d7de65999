"""Several learners, one portfolio: the vote."""
