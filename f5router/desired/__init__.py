"""The BIG-IP objects that serve the admitted Routes. No I/O."""
