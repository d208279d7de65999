"""What the market brings: sessions, corporate actions, clocks."""
