"""OpenShift and Kubernetes router for F5 BIG-IP."""

__version__ = "0.1.0"
