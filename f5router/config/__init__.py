"""Settings: flags, variables and files, read and checked once."""
