"""Frozen views of Routes, Nodes and the device, for people: the status page and commands show them."""
