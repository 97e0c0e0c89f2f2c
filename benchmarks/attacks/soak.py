"""Changes of everything that the router watches, drawn from a seed, for minutes, under requests."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import click
import requests

from benchmarks.attacks import client, cluster, drill
from benchmarks.attacks.cluster import Asked, Change, Material, Object, Objects
from benchmarks.attacks.site import AttackError, Site, difference, process_memory
from tests import manifests
from tests.traffic.load import Target

GRACE_S = 10.0
"""How long after a change an answer may still be that of before."""
PAUSE_S = (0.05, 1.2)
"""Between two changes, drawn."""
TELL_S = 60.0
DELAY_LIMIT_S = 15.0
WARM_S = 20.0
"""Until the resources of the router are looked at for the first time, at most a fifth of the run."""
MORE_MIB, MORE_THREADS, MORE_FILES = 40.0, 8, 20
"""What the router may have more at the end."""
FLOATING = "10.1.9.1"
"""An address that pods of both tenants have in turn."""


@dataclass
class Report:
    """Result of a run."""

    changes: int = 0
    passes: int = 0
    asked: int = 0
    failed: int = 0
    wrong: int = 0
    delays_s: list[float] = field(default_factory=list)
    resources: list[tuple[float, float, int, int]] = field(default_factory=list)
    """Seconds since the start, MiB, threads, descriptors."""
    problems: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[str, object]]:
        first, last = self.resources[0], self.resources[-1]
        ranked = sorted(self.delays_s) or [0.0]
        return [
            ("changes", self.changes),
            ("passes with writes", self.passes),
            ("requests", self.asked),
            ("requests of untouched Routes that failed", self.failed),
            ("answered by a wrong pod", self.wrong),
            ("endpoint changes timed", len(self.delays_s)),
            ("their delay, median s", f"{ranked[len(ranked) // 2]:.2f}"),
            ("longest s", f"{ranked[-1]:.2f}"),
            ("resident MiB, start and end", f"{first[1]:.0f} {last[1]:.0f}"),
            ("threads, start and end", f"{first[2]} {last[2]}"),
            ("descriptors, start and end", f"{first[3]} {last[3]}"),
            ("problems", len(self.problems)),
        ]


class Soak:
    """One run between the fakes."""

    def __init__(self, site: Site, seed: int):
        self.site, self.report, self._random = site, Report(), random.Random(seed)
        self._stages: deque[tuple[float, Objects]] = deque()
        self._serial, self._floating = 0, ("shop", "web")
        self._bereft: set[tuple[str, str, str]] = set()
        """Routes whose status we have taken away once."""
        self._pods = {
            place: [*pods, *cluster.SPARE.get(place, ())] for place, (pods, _) in cluster.PODS.items()
        }

    def run(self, seconds: float) -> Report:
        """Raises: AttackError: the router ends, or does not follow."""
        site = self.site
        self._apply(Change((*cluster.base(site.material).values(), *_steady())))
        site.start_pod("shop", "steady", "10.1.8.1", 8080, None)
        site.start_pod("shop", "web", FLOATING, 8080, None)
        site.start()
        site.until(lambda: all(site.statuses().values()), drill.LIMIT_S, lambda: "Routes without a status")
        site.until(
            lambda: not client.problems(self._steady_targets()),
            drill.LIMIT_S,
            lambda: "; ".join(client.problems(self._steady_targets())),
        )
        site.ask([*self._steady_targets(), *self._targets()], seed=self._random.randrange(2**32), clients=3)
        begin = told = time.monotonic()
        while time.monotonic() - begin < seconds:
            self._change()
            time.sleep(self._random.uniform(*PAUSE_S))
            if site.crashed():
                raise AttackError(f"the router has ended:\n{site.tail()}")
            if not self.report.resources and time.monotonic() - begin > min(WARM_S, seconds / 5):
                self._measure(begin)
            if time.monotonic() - told > TELL_S:
                told = time.monotonic()
                self._measure(begin)
                self._tell()
        self._measure(begin)
        self._end()
        return self.report

    # -- changes -------------------------------------------------------------------------------------

    def _change(self) -> None:
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
            ),
            (10, 5, 3, 2, 2, 2, 2, 1),
        )[0]
        choose()
        self.report.changes += 1

    def _apply(self, change: Change) -> None:
        """Note it before the router can know of it."""
        now = time.monotonic()
        self._stages.append((now, change.to(self.site.objects)))
        self.site.change(change)
        while len(self._stages) > 1 and self._stages[1][0] < now - GRACE_S:
            self._stages.popleft()

    def _endpoints(self) -> None:
        namespace, service = place = self._random.choice([place for place in self._pods if self._pods[place]])
        pods = self._random.sample(self._pods[place], self._random.randint(0, len(self._pods[place])))
        if not self._random.randrange(8):
            self._apply(Change((cluster.endpoints(namespace, service),)))
            return
        self._apply(Change((cluster.endpoints(namespace, service, *pods),)))
        if self._random.random() < 0.5:
            with self._timed():
                self._until_members(namespace, service, set(pods))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.report.delays_s.append(time.monotonic() - begin)

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
        self._apply(
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
            self._apply(Change(delete=(self._random.choice(churned),)))

    def _takeover(self) -> None:
        """The older Route for a Host of two tenants goes, or comes back."""
        name = self._random.choice(("taken", "taken-tls", "taken-through"))
        key = ("Route", "shop", name)
        if key in self.site.objects:
            self._apply(Change(delete=(key,)))
        else:
            self._apply(Change((cluster.base(self.site.material)[key],)))

    def _secret(self) -> None:
        """The certificate of a Route in a Secret: made, renewed, spoiled, deleted."""
        key = ("Secret", "shop", "external")
        if key in self.site.objects and not self._random.randrange(4):
            self._apply(Change(delete=(key,)))
            return
        self._serial += 1
        pair = self.site.material[f"own1-{self._serial % 2 + 1}"]
        text = pair.certificate if self._random.randrange(5) else "no certificate"
        self._apply(Change((_secret(text, pair.key),)))

    def _node(self) -> None:
        number = self._random.randrange(5)
        key = ("Node", "", f"node-{number}")
        if key in self.site.objects:
            self._apply(Change(delete=(key,)))
        else:
            node = manifests.node(
                f"node-{number}", f"10.3.0.{number + 1}", cidrs=(f"10.128.{number * 2}.0/23",)
            )
            node["metadata"]["namespace"] = ""
            self._apply(Change((node,)))

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
        self._apply(Change((cluster.endpoints(namespace, service, *others),)))
        self._until_members(namespace, service, set(others))
        self._floating = ("rival" if namespace == "shop" else "shop", "web")
        self.site.start_pod(*self._floating, FLOATING, 8080, None)
        now = [*(pod for pod in self._pods[self._floating] if pod != FLOATING), FLOATING]
        self._apply(Change((cluster.endpoints(*self._floating, *now),)))

    # -- requests ------------------------------------------------------------------------------------

    def _steady_targets(self) -> list[Target]:
        return [
            target
            for target in self.site.targets(self.site.objects, steady=True)
            if target.host.startswith("steady")
        ]

    def _targets(self) -> list[Target]:
        """Return what may be refused, but not answered by the pod of a Route that never had the request."""
        hosts = [
            f"{namespace}-{number}.churn.example.com" for namespace in cluster.TENANTS for number in range(4)
        ]
        churned = [
            Asked(host, path, tls)
            for host in hosts
            for path in ("/", "/a/x", "/a/b/x")
            for tls in (False, True)
        ]
        known = [request for request in cluster.requests(self.site.objects)
                 if not request.host.startswith("steady")]
        return [
            Target(
                str(asked),
                self.site.address(asked),
                asked.host,
                asked.path,
                asked.tls,
                right=self._right(asked),
                alone=True,
            )
            for asked in (*known, *churned)
        ]

    def _right(self, asked: Asked) -> Callable[[dict], bool]:
        def right(pod: dict) -> bool:
            who = pod["namespace"], pod["pod"].rpartition("-")[0]
            return any(
                who in cluster.answer(asked, objects, self.site.material).services
                for _, objects in list(self._stages)
            )

        return right

    # -- figures -------------------------------------------------------------------------------------

    def _measure(self, begin: float) -> None:
        self.report.resources.append((time.monotonic() - begin, *process_memory(self.site.router.pid)))

    def _tell(self) -> None:
        load, (at, mib, threads, files) = self.site.load.report, self.report.resources[-1]
        click.echo(
            f"{at:5.0f} s  {self.report.changes} changes, {load.sent.total()} requests, "
            f"{len(load.wrong)} wrong, {mib:.0f} MiB, {threads} threads, {files} descriptors",
            err=True,
        )

    def _end(self) -> None:
        site, report = self.site, self.report
        with self._fresh() as wanted:
            site.until(
                lambda: not self._unequal(wanted), drill.LIMIT_S, lambda: "; ".join(self._unequal(wanted))
            )
            load = site.load.stop()
            report.problems += client.problems(self._steady_targets())
            site.stop()
            report.problems += [
                *self._unequal(wanted),
                *site.leftovers(),
                *difference(site.foreign, site.state(ours=False)),
            ]
        failed = [text for text in load.failed if "//steady" in text.split(" ")[0]]
        report.asked, report.wrong, report.failed = load.sent.total(), len(load.wrong), len(failed)
        report.passes = site.log.read_text(errors="replace").count(" reconciled ")
        report.problems += [f"wrong: {text}" for text in load.wrong[:3]] + [
            f"failed: {text}" for text in failed[:3]
        ]
        report.problems += self._growth()

    @contextmanager
    def _fresh(self) -> Iterator[Site]:
        """A new device, loaded by a new router from the same cluster."""
        with Site(self.site.material, ssh=self.site.ssh, flags=self.site.flags) as other:
            other.change(Change(tuple(self.site.objects.values())))
            other.start()
            drill.until_quiet(other)
            other.stop()
            yield other

    def _unequal(self, wanted: Site) -> list[str]:
        then, now = wanted.state(), self.site.state()
        now = {name: text for name, text in now.items() if name in then or not name.startswith(drill.NODES)}
        return [*difference(then, now), *difference(wanted.statuses(), self.site.statuses())]

    def _growth(self) -> list[str]:
        (_, mib, threads, files), (_, mib_end, threads_end, files_end) = (
            self.report.resources[0],
            self.report.resources[-1],
        )
        figures = [
            ("MiB", mib, mib_end, MORE_MIB),
            ("threads", threads, threads_end, MORE_THREADS),
            ("descriptors", files, files_end, MORE_FILES),
        ]
        problems = [
            f"{name}: {before:.0f} at the start, {after:.0f} at the end"
            for name, before, after, more in figures
            if after > before + more
        ]
        longest = max(self.report.delays_s, default=0.0)
        return problems + ([f"an endpoint change took {longest:.1f} s"] if longest > DELAY_LIMIT_S else [])


def _steady() -> list[Object]:
    """Routes that nobody changes, and one whose certificate is in a Secret."""
    external = manifests.route("external", host="external.example.com", kind="edge")
    external["spec"]["tls"]["externalCertificate"] = {"name": "external"}
    return [
        *manifests.service("shop", "steady", pods=("10.1.8.1",)),
        manifests.route("steady", host="steady.example.com", service="steady"),
        manifests.route(
            "steady-edge", host="steady-edge.example.com", service="steady", kind="edge", insecure="Redirect"
        ),
        external,
    ]


def _secret(certificate: str, key: str) -> Object:
    import base64

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


def run(material: Material, *, seed: int, minutes: float, ssh: bool) -> Report:
    """One run. Its problems are in the report."""
    with Site(material, ssh=ssh, flags={"ROUTER_F5_STATIC_ROUTES": "true"}) as site:
        soak = Soak(site, seed)
        try:
            soak.run(60 * minutes)
        except AttackError as error:
            soak.report.problems += [str(error), *site.load.report.wrong[:3]] if site.load else [str(error)]
        return soak.report
