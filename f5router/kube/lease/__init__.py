"""Leader election by a Lease: which of several routers may write."""
