"""Secrets that Routes name, read by a bounded number of threads."""
