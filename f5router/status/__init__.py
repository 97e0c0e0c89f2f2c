"""Conditions of Routes and contention between routers. No I/O."""
