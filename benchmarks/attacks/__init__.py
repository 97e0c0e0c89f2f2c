"""Attacks on a running router: killed, cut off, refused, flooded; started by hand, see docs/operations.md."""
