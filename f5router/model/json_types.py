"""The type of objects that come in JSON, from iControl REST and from the Kubernetes API."""

from collections.abc import Mapping
from typing import Any

JSON = Mapping[str, Any]
"""An object as it was parsed; whoever reads a property checks its type."""
