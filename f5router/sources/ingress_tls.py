"""TLS of the hosts of one Ingress: by spec.tls, and by annotations of this router and of others.

An Ingress that asks for TLS is never served in clear text. Sources of what allow-http and ssl-redirect mean
together: clouddocs, Container Ingress Services, Ingress annotations; kubernetes/ingress-nginx, TLS/HTTPS,
"Server-side HTTPS enforcement through redirect"; Google Cloud, Ingress, "Disabling HTTP".
"""

from typing import NamedTuple

from f5router.admission.foreign.readers import Draft
from f5router.model import hostnames
from f5router.model.cluster import CA_CRT, Key, PodAuthority, RouteTLS
from f5router.model.hostnames import quote
from f5router.model.ingress import Ingress


class HostTLS(NamedTuple):
    """TLS of a host of an Ingress."""

    tls: RouteTLS
    secret: Key | None
    field: str = ""
    """The one that names the Secret."""


class IngressTLSChoice:
    """Decides how each host of an Ingress is encrypted."""

    def __init__(self, ingress: Ingress, termination: str, draft: Draft, insecure: str):
        """Args:
            termination: by the annotation of OpenShift, "" without it.
            insecure: Redirect or Allow, where no annotation says so.
        """
        self._ingress, self._draft, self._default = ingress, draft, insecure
        self._termination = termination
        self.by_annotation: dict[str, str] = {}
        """Hosts that are encrypted although spec.tls does not have them, and what asks for that."""

    def host(self, host: str) -> HostTLS | None:
        """Return how a host is encrypted; None if it is not.

        An entry with the wildcard of a host is for that host where no other names it, and one without hosts
        for all that are left. (OpenShift's controller compares hosts by their text, and serves such a host
        without TLS.)
        """
        entries = list(enumerate(self._ingress.tls))
        named = next((pair for wanted in (host, hostnames.wildcard(host)) for pair in entries
                      if wanted in pair[1].hosts), None)
        number, entry = named or next((pair for pair in entries if not pair[1].hosts), (0, None))
        if entry is None and not self._is_asked_for(host):
            return None
        termination = self._termination or self._by_others()
        secret = Key(self._ingress.key.namespace, entry.secret) if entry and entry.secret else None
        only_pods = entry is None and termination == "reencrypt" and not (
            self._termination or host in self.by_annotation)
        return HostTLS(RouteTLS(termination, "Allow" if only_pods else self._insecure(termination)),
                       None if termination == "passthrough" else secret, f"spec.tls[{number}].secretName")

    def all_hosts(self) -> RouteTLS:
        """Return TLS for hosts that nobody claims: both ports are served, unless the Ingress asks for TLS.

        The certificate is that of the virtual server, and nothing is redirected to TLS: the name in such a
        request is not known to be one.
        """
        termination = self._termination or self._by_others()
        asks = self._termination or self._draft.encrypt or self._ingress.tls
        serves = not asks or self._insecure(termination) == "Allow"
        return RouteTLS(termination, "Allow" if serves else "None")

    def authority(self, service: str) -> PodAuthority | None:
        """Return the Secret by which the pods of a Service are verified, by annotations of others."""
        key, name = self._draft.authority
        if not name or (self._termination or self._by_others()) != "reencrypt":
            return None
        namespace, slash, short = name.rpartition("/")
        own = not slash or namespace == self._ingress.key.namespace
        return PodAuthority(
            Key(self._ingress.key.namespace, short if own else name), CA_CRT,
            f"metadata.annotations: {key} {quote(name)}",
            ((service, self._draft.pod_name),) if self._draft.pod_name else ())

    def _is_asked_for(self, host: str) -> bool:
        if self._termination:
            return True
        draft = self._draft
        reasons = list(draft.encrypt)
        if host in draft.encrypted_hosts:
            reasons.append("virtual-server.f5.com/clientssl")
        if reasons:
            self.by_annotation[host] = reasons[0]
        return bool(reasons) or draft.passthrough or draft.pods_tls

    def _by_others(self) -> str:
        if self._draft.passthrough:
            return "passthrough"
        return "reencrypt" if self._draft.pods_tls else "edge"

    def _insecure(self, termination: str) -> str:
        """Return the behaviour of port 80; the strictest setting counts."""
        draft = self._draft
        if draft.redirect:
            return "Redirect"
        if draft.allow_http is False:
            return "None" if draft.silent or draft.redirect is False else "Redirect"
        if termination != "passthrough" and (draft.redirect is False or self._default == "Allow"):
            return "Allow"
        return "Redirect"
