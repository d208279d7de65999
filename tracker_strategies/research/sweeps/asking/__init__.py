"""What a sweep asks for."""
