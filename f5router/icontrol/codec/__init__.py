"""BIG-IP values to and from iControl REST JSON."""
