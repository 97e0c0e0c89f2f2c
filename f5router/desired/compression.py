"""Compression of responses: an HTTP compression profile on each virtual server that has none.

Sources: openshift/router, haproxy-config.template (compression algo gzip, compression type); HAProxy 2.6
configuration manual, compression; techdocs.f5.com, BIG-IP Local Traffic Management Profiles Reference, HTTP
compression profiles.
"""

from collections.abc import Iterable, Iterator

from f5router.model import names
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.ltm import Attachment, HTTPCompression, Object
from f5router.model.texts import Findings


def objects(folder: str, types: Iterable[str], facts: DeviceFacts) -> list[Object]:
    """Build the profile and its Attachments; a virtual server may have only one such profile."""
    virtuals = [virtual for virtual in _virtuals(facts) if not virtual.compression]
    if not types or not virtuals:
        return []
    path = names.full_path(folder, names.COMPRESSION_PROFILE)
    profile = HTTPCompression(path, frozenset(map(pattern, types)))
    return [profile, *(Attachment(virtual.path, "profiles", profile.path, HTTPCompression.KIND, "all")
                       for virtual in virtuals)]


def pattern(content_type: str) -> str:
    """Return the regular expression for responses whose type begins so.

    F5's documents state neither the kind of regular expressions nor whether they are anchored; in brackets a
    character stands for itself in every kind.
    """
    return "".join(char if char.isalnum() or char in "/-_" else f"[{char}]" for char in content_type)


def findings(types: Iterable[str], facts: DeviceFacts) -> Findings:
    """Report virtual servers that compress in another way than the settings ask for."""
    others = [virtual for virtual in _virtuals(facts) if virtual.compression] if types else []
    return Findings(warnings=tuple(
        f"virtual server {virtual.path} keeps its own HTTP compression profile "
        f"{', '.join(virtual.compression)}: ROUTER_ENABLE_COMPRESSION has no effect there"
        for virtual in others))


def _virtuals(facts: DeviceFacts) -> Iterator[VirtualFacts]:
    return (virtual for virtual in (facts.http, facts.https) if virtual)
