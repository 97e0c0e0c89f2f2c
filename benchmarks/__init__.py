"""Counts and times of the router; `make bench`. Nothing here is a test."""
