"""Changes that lead from what is observed to what is desired, in a safe order. No I/O."""
