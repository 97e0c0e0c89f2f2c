"""Admission of Routes: validation, certificates, and the claims to Hosts. No I/O."""
