"""Kubernetes I/O: list and watch, status patches."""
