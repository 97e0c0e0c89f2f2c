"""Writers: one per kind of BIG-IP object."""
