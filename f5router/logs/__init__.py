"""Log output."""
