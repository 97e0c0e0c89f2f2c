"""Keys under which Secrets are read, and ConfigMaps with authorities, as those in a Secret are."""

from f5router.model.cluster import Key

_CONFIG_MAP = "configmap:"
"""Beginning of the name of a ConfigMap's key. No object can have such a name."""


def config_map_key(key: Key) -> Key:
    """Return the key of a ConfigMap."""
    return Key(key.namespace, f"{_CONFIG_MAP}{key.name}")


def referent(key: Key) -> tuple[str, str]:
    """Return kind and name of the object that a key stands for."""
    name = key.name.removeprefix(_CONFIG_MAP)
    return ("Secret" if name == key.name else "ConfigMap"), name


def described(key: Key) -> str:
    """Return that object in words, such as "Secret shop/ca"."""
    kind, name = referent(key)
    return f"{kind} {Key(key.namespace, name)}"
