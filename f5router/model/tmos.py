"""TMOS versions: the oldest that is supported, and from which version on a device has each capability.

A version is a tuple of numbers, such as (14, 1, 2, 1), and compares as one.
"""

OLDEST = (11, 4)
"""The oldest version with iControl REST."""

TOKENS_SINCE = (12, 0)
"""Writes with an authentication token. 11.6 gives tokens and then refuses writes with them
(bigip-behaviour.md A4)."""

UPLOADS_SINCE = (12, 0)
"""Certificate files over REST: the end point file-transfer, and `sourcePath` (bigip-behaviour.md A7)."""

VXLAN_SINCE = (12, 0)
"""The VxLAN that openshift-sdn needs (OpenShift 3.11 documentation, "Using the F5 Router Plug-in": 12.x and
above)."""

FDB_SUBCOLLECTION_SINCE = (12, 1)
"""FDB records as a sub-collection. Before, they are a list in the tunnel's body (recorded on 11.6.0, nothing
is on 12.0)."""

REFERENCES_SINCE = (12, 0)
"""References to what is attached to a virtual server, which tell its type (bigip-behaviour.md B7)."""

DRAFTS_SINCE = (12, 1)
"""Drafts of LTM policies; a published policy refuses edits from then on (bigip-behaviour.md B4)."""

DESCRIPTIONS_SINCE = (12, 1)
"""The property `description` of every kind that gets one; of pools it is recorded on 11.5.4 too
(bigip-behaviour.md B1)."""

SET_VARIABLE_SINCE = (12, 1)
"""The action `tcl setVariable`, by which a Rule gives an iRule its pool. Nothing shows that an older device
accepts it, and one that does not would refuse every Rule. Sources: recorded on 16.0.0; F5's own tests of it
run from 12.1 to 15 (github.com/F5Networks/f5-ansible pull 1706)."""

TLS13_SINCE = (14, 0)
"""TLS 1.3, its cipher suites and those of ChaCha20 (K10251520; recorded on 14.1.2.1: no-tlsv1.3)."""

REDIRECT_CODE_SINCE = (14, 0)
"""Another status than 302 in the redirect of a policy. Source: AS3 schema, Policy_Action_HTTP_Redirect
(code), supported in TMOS version 14.0 and later."""

TLS_CHECKS_SINCE = (13, 1)
"""A server SSL profile in an https monitor (bigip-behaviour.md B3)."""

READY_SINCE = (13, 1)
"""The collection sys/ready, which sys/mcp-state stands in for on older versions (bigip-behaviour.md A3)."""


def dotted(version: tuple[int, ...]) -> str:
    """Write a version as F5 does: 14.1.2.1."""
    return ".".join(map(str, version))
