"""Changes for minutes, under requests, and what the router needs for them."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import click

from benchmarks.attacks import client, cluster, drill
from benchmarks.attacks.churn import FLOATING, Churn
from benchmarks.attacks.cluster import Asked, Change, Material, Object
from benchmarks.attacks.contents import difference
from benchmarks.attacks.marks import marked
from benchmarks.attacks.site import AttackError, Site, judge, process_memory
from tests import manifests
from tests.traffic.load import Target

PAUSE_S = (0.05, 1.2)
"""Between two changes, drawn."""
TELL_S = 60.0
DELAY_LIMIT_S = 15.0
WARM_S = 20.0
"""Until the resources of the router are looked at for the first time, at most a fifth of the run."""
MORE_MIB, MORE_THREADS, MORE_FILES = 40.0, 8, 20
"""Growth that the router is allowed until the end."""


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
        self._churn = Churn(site, self._random)
        self.report.delays_s = self._churn.delays_s

    def run(self, seconds: float) -> Report:
        """Raises: AttackError: the router ends, or does not follow."""
        site = self.site
        self._churn.apply(Change((*cluster.base(site.material).values(), *_steady())))
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
            self._churn.change()
            self.report.changes += 1
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
                check=self._check(asked),
                alone=asked.tls,
            )
            for asked in (*known, *churned)
        ]

    def _right(self, asked: Asked) -> Callable[[dict], bool]:
        def right(pod: dict) -> bool:
            who = pod["namespace"], pod["pod"].rpartition("-")[0]
            return any(
                who in cluster.answer(asked, objects, self.site.material).services
                for objects in self._churn.stages()
            )

        return right

    def _check(self, asked: Asked) -> Callable[[int, dict[str, str], dict | None], str]:
        def check(status: int, headers: dict[str, str], pod: dict | None) -> str:
            answers = [cluster.answer(asked, objects, self.site.material) for objects in self._churn.stages()]
            return judge(answers, status, headers, pod)

        return check

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
        marked(manifests.route(
            "steady-edge", host="steady-edge.example.com", service="steady", kind="edge", insecure="Redirect"
        ), "steady", **{"rewrite-target": "/steady"}),
        external,
    ]


def run(material: Material, *, seed: int, minutes: float, ssh: bool) -> Report:
    """One run. Its problems are in the report."""
    with Site(material, ssh=ssh, flags={"ROUTER_F5_STATIC_ROUTES": "true"}) as site:
        soak = Soak(site, seed)
        try:
            soak.run(60 * minutes)
        except AttackError as error:
            soak.report.problems += [str(error), *site.load.report.wrong[:3]] if site.load else [str(error)]
        return soak.report
