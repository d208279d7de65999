"""Who belongs to the index when, under which name, in which sector."""
