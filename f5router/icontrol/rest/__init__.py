"""iControl REST: transport, sessions, and the JSON client."""
