"""HTTP to the Kubernetes API, and its objects decoded."""
