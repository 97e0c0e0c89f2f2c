"""Environments and flags of the tests of Config, and how they are loaded."""

import pytest

from f5router.config.config import Config, load
from f5router.config.files import SERVICE_CA
from f5router.model.errors import ConfigError
from tests.builders import identity

HOST = "ROUTER_EXTERNAL_HOST_"
ENV = {HOST + "HOSTNAME": "bigip.example.com", HOST + "USERNAME": "admin", HOST + "PASSWORD": "s3cr3t-word"}

SERVICE_CA_TEXT = identity().issuer


def files(*, service_ca=SERVICE_CA_TEXT, **texts):
    """read_file over a dict; keys are given as keyword arguments with "_" for every "/".

    Args: service_ca: text of the file in the pod, None for no file.
    """
    by_path = {"/" + name.replace("_", "/"): text for name, text in texts.items()}
    by_path[SERVICE_CA] = service_ca

    def read(path):
        content = by_path.get(path)
        if any(each.startswith(f"{path}/") for each in by_path):
            raise IsADirectoryError(21, "Is a directory", path)
        if content is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if isinstance(content, Exception):
            raise content
        return content

    return read


def config(env=(), read_file=None, /, **flags) -> Config:
    """Config of a good environment, changed by env (None removes), and flags with "_" for "-"."""
    environ = {name: text for name, text in {**ENV, **dict(env)}.items() if text is not None}
    given = {name.replace("_", "-"): text for name, text in flags.items()}
    return load(given, environ, read_file or files())


def problems(env=(), read_file=None, /, **flags) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        config(env, read_file, **flags)
    return caught.value.problems


LOGIN = {"STATS_USERNAME": "prometheus", "STATS_PASSWORD": "gauge-word"}
"""Both or none: a bad one is told beside a good one."""
