"""Health monitors."""

from __future__ import annotations


class Monitors:
    def is_down(self, pool: str, member: str) -> bool:
        return False
