"""Routes by subdomain and Host, judged anew only where an event may have changed a verdict."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from f5router import claims
from f5router.admission import Checked, Rejection
from f5router.claims import Contest
from f5router.cluster import Key

_NONE: Mapping = {}


class Contests:
    """A subdomain without wildcard Routes is judged Host by Host, with one as a whole."""

    def __init__(self, *, ownership: bool):
        self._ownership = ownership
        self._routes: dict[Key, Checked] = {}
        self._subdomains: dict[str, dict[str, dict[Key, Checked]]] = {}
        """By subdomain, then by Host."""
        self._wildcards: Counter[str] = Counter()
        """Claims by subdomain."""
        self._verdicts: dict[Key, Rejection | None] = {}
        self._passthrough: set[str] = set()
        """Subdomains whose wildcard is passthrough."""
        self._changed: dict[str, set[str]] = {}
        self._whole: set[str] = set()
        """Subdomains that have, or had, a wildcard."""
        self.judged = 0
        """Routes, counted each time: what the events cost."""

    def routes(self) -> Mapping[Key, Checked]:
        """Every Route."""
        return self._routes

    def hosts(self, subdomain: str) -> Mapping[str, Mapping[Key, Checked]]:
        """Routes of a subdomain by Host."""
        return self._subdomains.get(subdomain, _NONE)

    def put(self, key: Key, checked: Checked | None) -> None:
        """A Route as it is now, None when it is gone."""
        if (old := self._routes.pop(key, None)) is not None:
            self._verdicts.pop(key, None)
            self._note(old, -1)
            hosts = self._subdomains[old.subdomain]
            del hosts[old.host][key]
            if not hosts[old.host]:
                del hosts[old.host]
            if not hosts:
                del self._subdomains[old.subdomain]
        if checked is not None:
            self._routes[key] = checked
            self._note(checked, 1)
            self._subdomains.setdefault(checked.subdomain, {}).setdefault(checked.host, {})[key] = checked

    def take(self) -> Iterator[tuple[str, Mapping[Key, Checked], Contest]]:
        """Each Host with another outcome than at the last call: its Routes, none when it is gone."""
        changed, self._changed = self._changed, {}
        for subdomain, touched in changed.items():
            hosts = self._subdomains.get(subdomain, {})
            if subdomain in self._whole:
                contest = self._judge(hosts)
                touched |= self._other(subdomain, hosts, contest)
                if not self._wildcards[subdomain]:
                    self._whole.discard(subdomain)
            else:
                contest = self._judge({host: hosts[host] for host in touched & hosts.keys()})
            self._verdicts.update(contest.verdicts)
            for host in touched:
                routes = hosts.get(host, _NONE)
                yield host, routes, replace(contest, verdicts={key: contest.verdicts[key] for key in routes})

    def _judge(self, hosts: Mapping[str, Mapping[Key, Checked]]) -> Contest:
        routes = list(itertools.chain.from_iterable(found.values() for found in hosts.values()))
        self.judged += len(routes)
        return claims.judge(routes, ownership=self._ownership)

    def _other(
        self, subdomain: str, hosts: Mapping[str, Mapping[Key, Checked]], contest: Contest
    ) -> set[str]:
        """Hosts that nobody touched, and whose outcome is another."""
        if contest.passthrough != (subdomain in self._passthrough):
            (self._passthrough.add if contest.passthrough else self._passthrough.discard)(subdomain)
            return set(hosts)
        return {host for host, routes in hosts.items()
                if any(self._verdicts.get(key) != contest.verdicts[key] for key in routes)}

    def _note(self, checked: Checked, number: int) -> None:
        if checked.wildcard and checked.claims:
            self._wildcards[checked.subdomain] += number
            if not self._wildcards[checked.subdomain]:
                del self._wildcards[checked.subdomain]
            self._whole.add(checked.subdomain)
        self._changed.setdefault(checked.subdomain, set()).add(checked.host)
