"""Findings about the way to the pods, in sentences."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Findings:
    """Sentences, each once, in a fixed order. Problems keep pods from being reached, warnings may."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(self.problems + other.problems, self.warnings + other.warnings)
