"""What a sweep found."""
