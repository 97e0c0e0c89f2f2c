"""Random faults at every call, from a seed: `python -m tests.chaos --seeds N`; see docs/architecture.md."""
