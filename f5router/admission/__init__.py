"""Which Routes are served: validation, certificates, and the claims to Hosts. No I/O."""
