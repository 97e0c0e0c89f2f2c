"""BIG-IP I/O over iControl REST and SSH."""
