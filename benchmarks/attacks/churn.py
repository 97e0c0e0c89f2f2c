"""Changes of everything that the router watches, drawn from a seed."""

import base64
import copy
import random
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from benchmarks.attacks import cluster, drill, marks
from benchmarks.attacks.cluster import ATTACKERS, Change, Object, Objects
from benchmarks.attacks.options import RATES
from benchmarks.attacks.site import AttackError, Site
from tests import manifests

GRACE_S = 10.0
"""How long after a change an answer may still be that of before."""
OPTIONS: tuple[dict[str, str], ...] = (
    {}, {}, {"balance": "source"}, {"disable_cookies": "true"}, {"rewrite-target": "/new"},
    {"rewrite-target": "/"}, {"pod-concurrent-connections": "100"}, {"ip_allowlist": ATTACKERS}, RATES,
)
"""Annotations that a Route may get beside its marks."""
FLOATING = "10.1.9.1"
"""An address that pods of both tenants have in turn."""


class Churn:
    """Changes of the cluster of a Site."""

    def __init__(self, site: Site, chance: random.Random):
        self.site, self._random = site, chance
        self.delays_s: list[float] = []
        """Time until the pools had the endpoints of a change."""
        self._stages: deque[tuple[float, Objects]] = deque()
        self._serial, self._floating = 0, ("shop", "web")
        self._bereft: set[tuple[str, str, str]] = set()
        """Routes whose status we have taken away once."""
        self._pods = {
            place: [*pods, *cluster.SPARE.get(place, ())] for place, (pods, _) in cluster.PODS.items()
        }

    def change(self) -> None:
        """Make a change, drawn."""
        choose = self._random.choices(
            (
                self._endpoints,
                self._route,
                self._drop,
                self._takeover,
                self._secret,
                self._node,
                self._status,
                self._float,
                self._options,
            ),
            (10, 5, 3, 2, 2, 2, 2, 1, 5),
        )[0]
        choose()

    def apply(self, change: Change) -> None:
        """Note it before the router can know of it."""
        now = time.monotonic()
        self._stages.append((now, change.to(self.site.objects)))
        self.site.change(change)
        while len(self._stages) > 1 and self._stages[1][0] < now - GRACE_S:
            self._stages.popleft()

    def stages(self) -> list[Objects]:
        """Return the objects of now, and those of a moment ago."""
        return [objects for _, objects in list(self._stages)]

    def _endpoints(self) -> None:
        namespace, service = place = self._random.choice([place for place in self._pods if self._pods[place]])
        pods = self._random.sample(self._pods[place], self._random.randint(0, len(self._pods[place])))
        if not self._random.randrange(8):
            self.apply(Change((cluster.endpoints(namespace, service),)))
            return
        self.apply(Change((cluster.endpoints(namespace, service, *pods),)))
        if self._random.random() < 0.5:
            with self._timed():
                self._until_members(namespace, service, set(pods))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.delays_s.append(time.monotonic() - begin)

    def _until_members(self, namespace: str, service: str, pods: set[str]) -> None:
        """Wait until each pool of a Service has these members."""
        stem = f"/Common/openshift_{namespace}_{service}"

        def there() -> bool:
            for item in self.site.bigip.items("ltm/pool"):
                if item.path == stem or item.path.startswith(f"{stem}_"):
                    members = self.site.bigip.shown(item)["membersReference"].get("items", [])
                    if {member["address"] for member in members} != pods:
                        return False
            return True

        self.site.until(
            there, drill.LIMIT_S, lambda: f"the pools of {namespace}/{service} lack their endpoints"
        )

    def _route(self) -> None:
        """A Route is added or changed: kind, Service, path, policy, certificate."""
        material, chance = self.site.material, self._random
        namespace = chance.choice(cluster.TENANTS)
        number = chance.randrange(12)
        # A Host is for passthrough or for the rest: both on one are refused.
        kind = "passthrough" if number % 4 == 3 else chance.choice(("", "edge", "reencrypt"))
        service = "tls" if kind in ("reencrypt", "passthrough") else "web"
        tls = {"destinationCACertificate": material.pods.issuer} if kind == "reencrypt" else {}
        if kind in ("edge", "reencrypt") and chance.random() < 0.5:
            pair = material[chance.choice(tuple(material.hosts))]
            tls |= {"certificate": pair.certificate, "key": pair.key}
        path = chance.choice(("", "/a", "/a/b")) if kind != "passthrough" else ""
        insecure = chance.choice(("", "Redirect") if kind == "passthrough" else ("", "Allow", "Redirect"))
        self.apply(
            Change(
                (
                    manifests.route(
                        f"churn-{number}",
                        namespace=namespace,
                        host=f"{namespace}-{number % 4}.churn.example.com",
                        path=path,
                        service=service,
                        kind=kind,
                        insecure=insecure if kind else "",
                        created=_second(number),
                        **tls,
                    ),
                )
            )
        )

    def _drop(self) -> None:
        churned = [key for key in self.site.objects if key[0] == "Route" and key[2].startswith("churn-")]
        if churned:
            self.apply(Change(delete=(self._random.choice(churned),)))

    def _options(self) -> None:
        """A Route gets options, perhaps those that another one has or had, or loses its own."""
        chance = self._random
        names = [key for key in self.site.objects
                 if key[0] == "Route" and key[2].startswith(("marked", "churn-"))]
        route = copy.deepcopy(self.site.objects[chance.choice(names)])
        route["metadata"].pop("annotations", None)
        route["spec"].pop("httpHeaders", None)
        if chance.randrange(4):
            number = chance.randint(1, 6)
            forwarded = chance.choice(("append", "replace", "if-none", "never"))
            more = chance.choice(OPTIONS)
            marks.marked(route, f"mark-{number}", number=number, forwarded=forwarded, **more)
        self.apply(Change((route,)))

    def _takeover(self) -> None:
        """The older Route for a Host of two tenants goes, or comes back."""
        name = self._random.choice(("taken", "taken-tls", "taken-through"))
        key = ("Route", "shop", name)
        if key in self.site.objects:
            self.apply(Change(delete=(key,)))
        else:
            self.apply(Change((cluster.base(self.site.material)[key],)))

    def _secret(self) -> None:
        """The certificate of a Route in a Secret: made, renewed, spoiled, deleted."""
        key = ("Secret", "shop", "external")
        if key in self.site.objects and not self._random.randrange(4):
            self.apply(Change(delete=(key,)))
            return
        self._serial += 1
        pair = self.site.material[f"own1-{self._serial % 2 + 1}"]
        text = pair.certificate if self._random.randrange(5) else "no certificate"
        self.apply(Change((_secret(text, pair.key),)))

    def _node(self) -> None:
        number = self._random.randrange(5)
        key = ("Node", "", f"node-{number}")
        if key in self.site.objects:
            self.apply(Change(delete=(key,)))
        else:
            node = manifests.node(
                f"node-{number}", f"10.3.0.{number + 1}", cidrs=(f"10.128.{number * 2}.0/23",)
            )
            node["metadata"]["namespace"] = ""
            self.apply(Change((node,)))

    def _status(self) -> None:
        """Another router writes its entry into a Route's status, or somebody removes ours: once for a Route,
        which would be left to another router of our name otherwise."""
        _, namespace, name = key = self._random.choice(
            [key for key in self.site.objects if key[0] == "Route"]
        )
        route = self.site.kube.get(*key)
        entries = list((route.get("status") or {}).get("ingress") or ())
        if self._random.random() < 0.5 or key in self._bereft:
            entries = [entry for entry in entries if entry["routerName"] != "other"]
            self._serial += 1
            when = f"2026-01-01T00:{self._serial // 60 % 60:02}:{self._serial % 60:02}Z"
            entries.append(
                {
                    "host": route["spec"]["host"],
                    "routerName": "other",
                    "conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": when}],
                }
            )
        else:
            self._bereft.add(key)
            entries = [entry for entry in entries if entry["routerName"] == "other"]
        reply = requests.put(
            f"{self.site.kube.url}/apis/route.openshift.io/v1/namespaces/{namespace}/routes/{name}/status",
            json={**route, "status": {"ingress": entries}},
            verify=self.site.kube.ca_file,
            timeout=drill.LIMIT_S,
            headers={"Authorization": f"Bearer {self.site.kube.token}"},
        )
        if reply.status_code not in (200, 409):  # 409: our router was quicker
            raise AttackError(f"PUT of a status: {reply.status_code} {reply.text[:200]}")

    def _float(self) -> None:
        """A pod's address becomes one of the other tenant's once the first pod has left the pools."""
        namespace, service = self._floating
        others = [pod for pod in self._pods[namespace, service] if pod != FLOATING]
        self.apply(Change((cluster.endpoints(namespace, service, *others),)))
        self._until_members(namespace, service, set(others))
        self._floating = ("rival" if namespace == "shop" else "shop", "web")
        self.site.start_pod(*self._floating, FLOATING, 8080, None)
        now = [*(pod for pod in self._pods[self._floating] if pod != FLOATING), FLOATING]
        self.apply(Change((cluster.endpoints(*self._floating, *now),)))


def _secret(certificate: str, key: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"namespace": "shop", "name": "external"},
        "data": {
            name: base64.b64encode(text.encode()).decode()
            for name, text in (("tls.crt", certificate), ("tls.key", key))
        },
    }


def _second(number: int) -> str:
    return f"2026-03-01T00:00:{number:02}Z"
