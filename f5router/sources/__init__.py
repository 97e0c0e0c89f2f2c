"""Other objects than Routes that publish Services: each becomes virtual Routes. No I/O."""
