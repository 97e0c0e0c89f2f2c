"""Annotations of other ingress controllers on Ingresses: translated, refused or reported."""
