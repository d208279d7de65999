"""Parts of the storm of journals."""
