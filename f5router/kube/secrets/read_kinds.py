"""The kinds that are read by name: Secrets, and ConfigMaps with authorities, under keys of their own."""

from f5router.kube.api import decode, fields
from f5router.kube.watch.sources import Source
from f5router.model.cluster import CA_CRT, OPAQUE, Secret
from f5router.model.json_types import JSON
from f5router.model.secret_keys import config_map_key


def config_map(obj: JSON) -> Secret:
    """Decode a core/v1 ConfigMap. Raises: DecodeError: it has no name."""
    data = fields.mapping(obj.get("data"))
    return Secret(config_map_key(fields.namespaced_key(obj)), OPAQUE,
                  authorities=fields.pem(data.get(CA_CRT)))


SOURCES = {"Secret": Source("secrets", "/api/v1", "secrets", lambda obj: (decode.secret(obj),)),
           "ConfigMap": Source("configmaps", "/api/v1", "secrets", lambda obj: (config_map(obj),))}
"""By kind, as secret_keys.referent has it."""
