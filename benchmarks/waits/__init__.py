"""How long a change waits: for the router's own work, for other tenants, for what fails; as programs."""
