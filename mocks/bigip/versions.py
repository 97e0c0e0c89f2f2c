"""TMOS versions as tuples of integers, and what depends on them alone."""

from __future__ import annotations

Version = tuple[int, ...]

FIRST_REST: Version = (11, 4)
"""iControl REST exists from 11.4 on (bigip-behaviour.md A9)."""
REFERENCES: Version = (12, 0)
"""`...Reference` links beside each reference (bigip-behaviour.md B1)."""
API_ERROR: Version = (12, 1)
"""`apiError` in error bodies (bigip-behaviour.md A2.2)."""
DRAFTS: Version = (12, 1)
"""Policies are published; changes go through drafts (bigip-behaviour.md B4)."""
LESSER_ROLES: Version = (13, 1)
"""Users below administrator may call REST (bigip-behaviour.md A4)."""
TOKEN_LIMIT: Version = (13, 0)
SYS_READY: Version = (13, 1)


def parse(text: str) -> Version:
    """`14.1.2.1` -> (14, 1, 2, 1). Raises: ValueError: a part is no number."""
    return tuple(int(number) for number in text.split("."))


def text(version: Version) -> str:
    return ".".join(str(number) for number in version)
