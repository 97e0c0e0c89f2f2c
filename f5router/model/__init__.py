"""Frozen values of the cluster and the BIG-IP, and the names of the objects. No I/O."""
