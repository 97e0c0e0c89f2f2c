"""Maps error replies of the Kubernetes API to exceptions whose messages say what an administrator can do."""

import re
import shlex
import ssl
from collections.abc import Mapping

import urllib3.exceptions as wire
from urllib3.util.ssl_match_hostname import CertificateError

from f5router.kube.api import documents, fields
from f5router.logs import log_output
from f5router.model.errors import (
    EXCERPT,
    KubeConflict,
    KubeError,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnauthorized,
    KubeUnreachable,
    ResourceExpired,
    ResourceUnavailable,
)
from f5router.model.json_types import JSON

BY_STATUS: Mapping[int, type[KubeError]] = {
    401: KubeUnauthorized,
    403: KubeForbidden,
    404: KubeNotFound,
    408: KubeUnreachable,
    409: KubeConflict,
    410: ResourceExpired,
    429: KubeUnreachable,
}
"""All others: KubeInvalid from 400 to 499; KubeUnreachable for what is no answer of an API server."""

STOCK_ROLE = "system:router"
"""A role that may update, not patch, the status of Routes, and has no right on EndpointSlices and Events."""
ROLES = dict.fromkeys(("routes", "services", "endpoints"), STOCK_ROLE)
SDN_ROLES = {
    "nodes": "system:sdn-reader",
    "hostsubnets": "system:sdn-reader",
    "clusternetworks": "system:sdn-reader",
    "projects": "basic-user",
}
"""Roles of a stock OpenShift that have the needed rights, by resource; the second table for openshift-sdn.

Source: GetOpenshiftBootstrapClusterRoles of OpenShift 3.11.
"""

SHIPPED, SHIPPED_ROLE, SHIPPED_ACCOUNT = "docs/deploy/10-account.yaml", "f5router", ("f5router", "f5router")
"""The file with the router's own ClusterRole, the role, and the account that gets it."""
SHIPPED_KINDS = frozenset({"routes", "services", "endpoints", "endpointslices", "events"})

WRITE_ROLES = {"hostsubnets": "system:sdn-manager"}
"""The roles to write, where the role to read may not."""

_CANNOT = re.compile(r'User "[^"]*" cannot ')
"""Part of every refusal for want of a right. A 403 without it concerns one object: of a webhook or quota.
Sources: k8s.io/apiserver endpoints/handlers/responsewriters; OpenShift 3 has the same words; a webhook's
code is passed on (kubernetes pull request 77022)."""

_ANONYMOUS = 'User "system:anonymous" cannot '
"""Part of a refusal of a request without a token that counts: nobody is logged in, which is no question of
rights. Sources: Kubernetes, Authenticating, Anonymous requests; user.Anonymous of k8s.io/apiserver."""

_ACCOUNT = re.compile(r'User "system:serviceaccount:([^:"]+):([^:"]+)"')
_USER = re.compile(r'User "([^"]+)"')
_NO_LOGIN = "the credentials are missing, expired, or of another cluster"
_RESOURCE = re.compile(r"^/o?apis?/(?:[^/]+/)?v\w+/(?:namespaces/[^/]+/)?([a-z]+)")


def error_for(method: str, path: str, status: int, body: bytes,
              headers: Mapping[str, str] | None = None, *, sdn: bool = True) -> KubeError:
    """Return the exception for a reply that is not 2xx.

    Args:
        path: of the request, without host and query.
        body: a Status object as JSON, or whatever a proxy in between sends.
        sdn: True if the cluster has the roles of openshift-sdn.
    """
    details = _status_object(body)
    text = details.get("message") if isinstance(details.get("message"), str) else ""
    if status == 403 and text and not _CANNOT.search(text):
        return KubeInvalid(f"{method} {path}: {status} {excerpt(text)}")
    text = excerpt(text or body.decode("utf-8", "replace"))
    return _error(method, path, status, text, details, headers or {}, sdn=sdn)


def error_in_stream(path: str, status: object) -> KubeError:
    """Return the exception for the object of an ERROR event of a watch, a Status."""
    details = fields.mapping(status)
    code = details.get("code")
    return _error("GET", path, code if isinstance(code, int) else 500,
                  excerpt(str(details.get("message") or "error without a message")), details, {})


def reason(exc: BaseException) -> str:
    """Return why there is no usable reply, without the words of a library."""
    chain = log_output.exception_links(exc)
    for link in chain:
        if isinstance(link, ssl.SSLCertVerificationError | CertificateError):
            why = getattr(link, "verify_message", "") or "it is for another name"
            return (f"the certificate of the API server is not trusted ({why}): see certificate-authority "
                    "and server of the kubeconfig")
    for kind, words in _WORDS:
        if any(isinstance(link, kind) for link in chain):
            return words
    if text := log_output.failure_words(chain):
        return text
    if any(isinstance(link, wire.ConnectTimeoutError) for link in chain):  # NewConnectionError is one, too
        return "no connection within the time-out"
    return "the reply is cut off, or is not JSON" if isinstance(exc, ValueError) else "no usable reply"


_WORDS = (
    (wire.NameResolutionError, "the host name has no address"),
    (wire.ProxyError, "the proxy (HTTPS_PROXY, or proxy-url of the kubeconfig) gave no connection"),
    (wire.LocationValueError, "the server of the kubeconfig is no URL, such as "
                              "https://master.example.com:8443"),
    (wire.ReadTimeoutError, "no reply within the time-out"),
    (wire.IncompleteRead, "the reply was cut off"),
)


def excerpt(text: str) -> str:
    """Shorten a text: one line, at most EXCERPT characters, nothing of a quoted certificate or key."""
    return " ".join(text.partition("-----BEGIN")[0].split())[:EXCERPT]


def _error(method: str, path: str, status: int, text: str, details: JSON,
           headers: Mapping[str, str], *, sdn: bool = True) -> KubeError:
    message = f"{method} {path}: {status} {text}".rstrip()
    if status == 403 and _ANONYMOUS in text:
        return KubeUnauthorized(f"{message}; {_NO_LOGIN}: the API server knows nobody of this request")
    kind = BY_STATUS.get(status, KubeInvalid if 400 <= status < 500 else KubeUnreachable)
    if kind is KubeUnreachable:
        return KubeUnreachable(message, _retry_after_s(headers, details), status)
    if issubclass(kind, KubeForbidden):
        return kind(f"{message}; {_grant(method, path, status, text, sdn=sdn)}")
    if kind is KubeNotFound and not fields.mapping(details.get("details")).get("name"):
        return ResourceUnavailable(message)  # a missing object is named in the reply, a missing kind is not
    return kind(message)


def _grant(method: str, path: str, status: int, text: str, *, sdn: bool) -> str:
    """Return how an administrator can fix a refusal."""
    if status == 401:
        return _NO_LOGIN
    match = _RESOURCE.match(path)
    resource = match.group(1) if match else "this resource"
    if resource == "leases":
        return "grant get, update and create in this namespace, as docs/deploy/replicas/10-lease.yaml does"
    roles = ROLES | (SDN_ROLES if sdn else {})
    role = (WRITE_ROLES if method != "GET" else {}).get(resource) or roles.get(resource)
    if method == "PATCH" and role == STOCK_ROLE:
        role = None
    ways = [_bind(role, text)] if role else []
    if resource in SHIPPED_KINDS and not path.startswith("/oapi/"):
        ways.append(_apply_shipped(text))
    return f"grant it with: {', or with: '.join(ways or [_create(resource, path, text)])}"


def _apply_shipped(text: str) -> str:
    """Return the command that re-applies the shipped role, and binds it to an account of another name."""
    account = _ACCOUNT.search(text)
    if account and account.groups() == SHIPPED_ACCOUNT:
        return f"oc apply -f {SHIPPED}"
    return f"oc apply -f {SHIPPED} and {_bind(SHIPPED_ROLE, text)}"


def _create(resource: str, path: str, text: str) -> str:
    """Return the command that creates a role where none has the right."""
    group = path.split("/")[2] if path.startswith("/apis/") else ""
    kind, role = f"{resource}.{group}" if group else resource, f"f5router-{resource}"
    return f"oc create clusterrole {role} --verb=get,list,watch --resource={kind} and {_bind(role, text)}"


def _bind(role: str, text: str) -> str:
    """Return the command that gives a role to the account named in a refusal."""
    if account := _ACCOUNT.search(text):
        namespace, name = account.groups()
        short = role in (STOCK_ROLE, SHIPPED_ROLE)
        to = f"-z {name} -n {namespace}" if short else f"system:serviceaccount:{namespace}:{name}"
    else:
        user = _USER.search(text)
        to = shlex.quote(user.group(1)) if user else "<user>"
    return f"oc adm policy add-cluster-role-to-user {role} {to}"


def _status_object(body: bytes) -> JSON:
    try:
        return fields.mapping(documents.loads(body))
    except ValueError:
        return {}


def _retry_after_s(headers: Mapping[str, str], status: JSON) -> float | None:
    """Return the seconds of the header Retry-After or of a Status; an HTTP date is ignored."""
    text = headers.get("Retry-After") or fields.mapping(status.get("details")).get("retryAfterSeconds")
    try:
        seconds = float(str(text))
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < 3600 else None
