"""LTM policies: direct, legacy, drafts and published ones (bigip-behaviour.md B4)."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import names, operands, refusals, versions
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.pools import refuse_duplicate
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store

DRAFTS = "Drafts"
RULES = "ltm/policy/rules"
CONDITIONS = "ltm/policy/rules/conditions"
ACTIONS = "ltm/policy/rules/actions"
STRATEGIES = ("first-match", "all-match", "best-match")


def has_drafts(store: Store) -> bool:
    return store.version >= versions.DRAFTS


def is_draft(path: str) -> bool:
    return names.folder_of(path).rsplit("/", 1)[1] == DRAFTS


def draft_of(store: Store, path: str) -> str:
    """Where the draft of a published policy lies; not documented for sub-folders (Quirk.DRAFT_IN_ROOT)."""
    partition, _, name = names.split(path)
    folder = f"/{partition}" if store.has(Quirk.DRAFT_IN_ROOT) else names.folder_of(path)
    return f"{folder}/{DRAFTS}/{name}"


def published_of(store: Store, draft: str) -> str:
    """Where a draft is published to."""
    item = store.get("ltm/policy", draft)
    if item is not None and "target" in item.hidden:
        return item.hidden["target"]
    folder, name = names.folder_of(draft), draft.rsplit("/", 1)[1]
    return f"{names.folder_of(folder)}/{name}"


class Policy(Kind):
    url = "ltm/policy"
    word = "policy"
    subs = (RULES,)
    required = ("strategy",)
    links: ClassVar[dict[str, str]] = {"strategy": "ltm/policy-strategy"}
    ignored = frozenset(("references", "lastModified", "status"))

    def check_folder(self, store: Store, key: Key) -> None:
        """A Drafts folder comes into being with its first draft (bigip-behaviour.md B2)."""
        folder = names.folder_of(key[0])
        if has_drafts(store) and is_draft(key[0]) and store.get("sys/folder", folder) is None:
            above = names.folder_of(folder)
            only_root = store.has(Quirk.DRAFT_IN_ROOT) and above.count("/") > 1
            if store.get("sys/folder", above) is not None and not only_root:
                store.kinds["sys/folder"].make(store, folder)
        super().check_folder(store, key)

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        super().check_new(store, key, body)
        self._check_description(store, body)
        if not has_drafts(store):
            if "legacy" in body:
                raise refusals.unknown_property("legacy")
            return
        if body.get("legacy"):
            return
        if not is_draft(key[0]):
            raise self._direct(store, key[0])
        published = published_of(store, key[0])
        if store.get(self.url, published) is not None:
            raise refusals.configuration_error(
                f'Published policy "{published}" exists, use create-draft to create a draft copy .'
            )

    def _check_description(self, store: Store, body: Body) -> None:
        """Policies have one from 12.1 on: F5Networks/f5-ansible, bigip_policy, "description"."""
        if store.version < (12, 1) and body.get("description") is not None:
            raise refusals.unknown_property("description")

    def _direct(self, store: Store, path: str) -> refusals.Refusal:
        return refusals.mcpd(
            "01071abb",
            f"Cannot create/modify published policy '{path}' directly, "
            f"try specifying a draft folder like '{draft_of(store, path)}'.",
        )

    def check_editable(self, store: Store, path: str) -> None:
        item = store.get(self.url, path)
        if item is not None and item.fields.get("status") == "published":
            raise self._direct(store, path)

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        if "createDraft" in body and not has_drafts(store):
            raise refusals.unknown_property("createDraft")
        if body.get("createDraft"):
            return self._create_draft(store, item)
        self._check_description(store, body)
        self.check_editable(store, item.path)
        return super().modify(store, item, body)

    def replace(self, store: Store, item: Item, body: Body) -> Item:
        self.check_editable(store, item.path)
        return super().replace(store, item, body)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        fields = {
            name: value for name, value in fields.items() if name not in ("legacy", "createDraft", "rules")
        }
        strategy = names.full_path(str(fields["strategy"]), "/Common")
        if strategy not in [f"/Common/{name}" for name in STRATEGIES]:
            raise refusals.not_found("policy strategy", strategy)
        fields["strategy"] = strategy
        if has_drafts(store):
            status = old.fields["status"] if old else "legacy" if body.get("legacy") else "draft"
            fields["status"] = status
        return fields

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if "rules" in body:
            merged = old is not None and store.has(Quirk.RULES_MERGED)
            store.kinds[RULES].set_all(store, item.key, body["rules"] or [], keep_others=merged)
        self.changed_parent(store, item.key)

    def changed_parent(self, store: Store, key: Key) -> None:
        """Any change of a policy may break a virtual server that has it."""
        item = store.get(self.url, *key)
        if item is None:
            return
        store.put(self.url, key, item.fields, {**item.hidden, "modified": store.clock()})
        for kind, user in store.users("policy", key[0]):
            if kind == "ltm/virtual/policies":
                store.kinds["ltm/virtual"].check_later(store, user[0])

    def _create_draft(self, store: Store, item: Item) -> Item:
        if item.fields.get("status") != "published":
            raise refusals.configuration_error(f'Policy "{item.path}" is not published.')
        path = draft_of(store, item.path)
        if store.get(self.url, path) is not None:
            raise refusals.already_exists(self.word, path, names.partition_of(path))
        if store.get("sys/folder", names.folder_of(path)) is None:
            store.kinds["sys/folder"].make(store, names.folder_of(path))
        hidden = {**item.hidden, "target": item.path}
        store.put(self.url, (path,), {**item.fields, "status": "draft"}, hidden)
        _replace(store, RULES, item.key, (path,))
        # the answer was never recorded (bigip-behaviour.md B12.3): the object of the URL
        return item

    def publish(self, store: Store, path: str) -> None:
        """The command publish: the draft's content takes the published policy's place
        (bigip-behaviour.md B4)."""
        draft = store.get(self.url, path)
        if draft is None or not has_drafts(store):
            raise refusals.not_found(self.word, path)
        if draft.fields["status"] != "draft":
            raise refusals.configuration_error(f'Policy "{path}" is not a draft.')
        target = published_of(store, path)
        hidden = {"modified": store.clock()}
        store.put(self.url, (target,), {**draft.fields, "status": "published"}, hidden)
        _replace(store, RULES, draft.key, (target,))
        store.remove(self.url, draft.key)
        self.changed_parent(store, (target,))

    def check_unused(self, store: Store, item: Item) -> None:
        if store.is_used("policy", item.path):
            raise refusals.mcpd(
                "01070635", f"The policy ({item.path}) is referenced by one or more virtuals."
            )
        if (
            store.has(Quirk.DRAFT_BLOCKS_DELETE)
            and store.get(self.url, draft_of(store, item.path)) is not None
            and not is_draft(item.path)
        ):
            raise refusals.in_use(self.word, item.path, f"policy ({draft_of(store, item.path)})")

    def read(self, store: Store, item: Item) -> Body:
        if store.version < (12,):
            return item.fields
        fields = {**item.fields, "references": {}}
        if has_drafts(store):
            when = datetime.datetime.fromtimestamp(item.hidden.get("modified", 0), datetime.UTC)
            fields["lastModified"] = when.strftime("%Y-%m-%dT%H:%M:%SZ")
        return fields


def _replace(store: Store, kind: str, source: Key, target: Key) -> None:
    """Make the items below a target those of a source; an item stays that has the very fields of a copy.

    Thousands of rules are published for one that is new.
    """
    wanted, there = store.children(kind, source), store.children(kind, target)
    for name in [name for name in there if name not in wanted]:
        store.remove(kind, (*target, name))
    for item in list(wanted.values()):
        key, old = (*target, item.name), there.get(item.name)
        if old is None or old.fields is not item.fields or (item.hidden and old.hidden is not item.hidden):
            store.put(kind, key, item.fields, item.hidden)
        for sub in store.kinds[kind].subs:
            if not _same(store.children(sub, item.key), store.children(sub, key)):
                _replace(store, sub, item.key, key)


def _same(items: dict[str, Item], others: dict[str, Item]) -> bool:
    """True if both have the same names with the very same fields."""
    return len(items) == len(others) and all(
        (other := others.get(name)) is not None and other.fields is item.fields
        for name, item in items.items()
    )


def dependencies(store: Store, path: str) -> list[str]:
    """Aspects of a virtual server that the rules of a policy use, such as http."""
    return [aspect for aspect in operands.ASPECTS if store.is_used("policy needs", f"{path} {aspect}")]


class Rules(Kind):
    url = RULES
    word = "policy rule"
    parent = "ltm/policy"
    subs = (ACTIONS, CONDITIONS)
    partitioned = False
    counts_in_folder = False

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        policy = store.kinds["ltm/policy"]
        if store.get("ltm/policy", key[0]) is None:
            raise policy.absent(store, key[:1])
        policy.check_editable(store, key[0])
        if store.version < (12, 1) and body.get("description") is not None:
            raise refusals.unknown_property("description")
        super().check_new(store, key, body)

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        store.kinds["ltm/policy"].check_editable(store, item.path)
        return super().modify(store, item, body)

    def replace(self, store: Store, item: Item, body: Body) -> Item:
        store.kinds["ltm/policy"].check_editable(store, item.path)
        return super().replace(store, item, body)

    def delete(self, store: Store, item: Item) -> None:
        store.kinds["ltm/policy"].check_editable(store, item.path)
        super().delete(store, item)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        if "ordinal" not in fields:
            # the default is not known (bigip-behaviour.md B12.4): 0, as recorded for the first rule
            fields = {**fields, "ordinal": 0}
        try:
            return {**fields, "ordinal": int(fields["ordinal"])}
        except (TypeError, ValueError):
            raise refusals.invalid_value("ordinal", fields["ordinal"]) from None

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        for name, kind in (("conditions", CONDITIONS), ("actions", ACTIONS)):
            if name in body:
                store.kinds[kind].set_all(store, item.key, body[name] or [])

    def set_all(self, store: Store, parent: Key, bodies: list[Body], *, keep_others: bool = False) -> None:
        """Replace all rules of a policy, or those of the same names; one that is sent as before stays.

        A list of thousands of rules brings a few that differ.
        """
        bodies = [self.with_items(body) for body in bodies]
        listed: dict[Key, Body] = {}
        for body in bodies:
            key = self.key_of(store, parent, body)
            if key in listed:
                refuse_duplicate(
                    store, refusals.already_exists(self.word, self.shown(key), names.partition_of(key[0]))
                )
            listed[key] = body
        new = {key: body for key, body in listed.items() if not self._is_as_sent(store, key, body)}
        for key in [(*parent, name) for name in store.children(self.url, parent)]:
            if key in new or (key not in listed and not keep_others):
                store.remove(self.url, key)
        for body in new.values():
            item = self.create(store, parent, body)
            store.put(self.url, item.key, item.fields, {"sent": (body, self._contents(store, item))})

    def _is_as_sent(self, store: Store, key: Key, body: Body) -> bool:
        """True for a rule that is what a list made of this body."""
        if (item := store.get(self.url, *key)) is None or "sent" not in item.hidden:
            return False
        (sent, contents), now = item.hidden["sent"], self._contents(store, item)
        return len(now) == len(contents) and all(map(operator.is_, now, contents)) and sent == body

    def _contents(self, store: Store, item: Item) -> list[Body]:
        """The fields of a rule and of its parts; no change of them leaves the same objects."""
        return [item.fields] + [
            below.fields for sub in self.subs for below in store.children(sub, item.key).values()
        ]

    def in_order(self, children: dict[str, Item]) -> list[Item]:
        return sorted(children.values(), key=lambda rule: rule.fields["ordinal"])


class Parts(Kind):
    """Conditions or actions of a rule."""

    parent = RULES
    partitioned = False
    counts_in_folder = False
    schema_url = RULES

    def __init__(self, url: str, word: str) -> None:
        self.url, self.word = url, word
        self.links = operands.REFERENCES if url == ACTIONS else {}

    def references(self, item: Item) -> Iterable[Ref]:
        fields = item.fields
        needed = operands.needed_profiles(fields)
        references = [("policy needs", f"{item.path} {aspect}") for aspect in needed]
        if self.url == ACTIONS:
            references += [
                (kind.rsplit("/", 1)[1], fields[name])
                for name, kind in operands.REFERENCES.items()
                if name in fields
            ]
        elif "datagroup" in fields:
            references.append(("data-group", names.full_path(fields["datagroup"], "/Common")))
        return references

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        if store.get(RULES, *key[:2]) is None:
            store.kinds[RULES].check_new(store, key[:2], {})
            raise store.kinds[RULES].absent(store, key[:2])
        store.kinds["ltm/policy"].check_editable(store, key[0])
        super().check_new(store, key, body)

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        key = self.key_of(store, parent, body)
        old = store.get(self.url, *key)
        if old is not None and store.has(Quirk.CONDITION_POST_UPSERT):
            return self.replace(store, old, body)
        return super().create(store, parent, body)

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        """Flags that are not sent stay, unless a flag of the same group takes their place."""
        store.kinds["ltm/policy"].check_editable(store, item.path)
        if not any(name != "name" for name in body):
            raise refusals.tmsh("one or more properties must be specified")
        kept = dict(item.fields)
        for group in (
            operands.EVENTS,
            operands.OPERATORS,
            frozenset(operands.OPERANDS),
            frozenset(operands.TARGETS),
        ):
            if any(body.get(name) is True for name in group):
                kept = {name: value for name, value in kept.items() if name not in group or value is not True}
        return self.replace(store, item, {**kept, **body})

    def replace(self, store: Store, item: Item, body: Body) -> Item:
        store.kinds["ltm/policy"].check_editable(store, item.path)
        return self.write(store, item.key, self.accept(store, body, item.key), body, item)

    def delete(self, store: Store, item: Item) -> None:
        store.kinds["ltm/policy"].check_editable(store, item.path)
        super().delete(store, item)

    def initial(self, store: Store, key: Key) -> Body:
        return {}

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        parse = operands.condition if self.url == CONDITIONS else operands.action
        properties = parse(store, key[0], key[1], body)
        if self.url == ACTIONS:
            folder = f"/{names.partition_of(key[0])}"
            for name in operands.REFERENCES:
                if name in properties and not (name == "node" and not str(properties[name]).startswith("/")):
                    properties[name] = names.full_path(str(properties[name]), folder)
        return properties

    def check_references(self, store: Store, item: Item) -> None:
        if self.url != ACTIONS:
            group = item.fields.get("datagroup")
            if group and store.get("ltm/data-group/internal", names.full_path(group, "/Common")) is None:
                raise refusals.foreign_key(group, "policy condition", " ".join(item.key), "datagroup_FK")
            return
        for name, kind in operands.REFERENCES.items():
            value = item.fields.get(name)
            if value and not (name == "node") and store.get(kind, value) is None:
                raise refusals.foreign_key(value, "policy action", " ".join(item.key), f"{name}_FK")

    def set_all(self, store: Store, parent: Key, bodies: list[Body]) -> None:
        for name in list(store.children(self.url, parent)):
            store.remove(self.url, (*parent, name))
        for body in bodies:
            Kind.create(self, store, parent, body)

    def in_order(self, children: dict[str, Item]) -> list[Item]:
        return sorted(children.values(), key=lambda item: (len(item.name), item.name))
