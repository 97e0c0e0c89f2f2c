"""pages.py: every item of a collection once, however a device treats pages, and whatever comes or goes."""

from dataclasses import dataclass, field

import pytest

from f5router.icontrol import pages
from f5router.model.errors import DeviceTimeout, NotFound, Refused

COUNT = 2 * pages.PAGE + 7
POOL = "ltm/pool"
FILTER = {"$filter": "partition eq Common"}


def path(number: int) -> str:
    return f"/Common/p{number:05}"


@dataclass
class Device:
    """A collection, and how pages of it are made."""

    numbers: list[int] = field(default_factory=lambda: list(range(COUNT)))
    foreign: int = 0
    """Items of other partitions, which come first."""
    without: tuple[str, ...] = ()
    """Query options without effect."""
    refuses_pages: bool = False
    filters_late: bool = False
    """Pages are made before the filter."""
    slow_whole: bool = False
    between: dict[int, object] = field(default_factory=dict)
    """What happens before the n-th request: a function of `numbers`."""
    calls: list[tuple[str, dict]] = field(default_factory=list)
    largest: int = 0

    def get(self, name: str, params: dict | None = None) -> dict:
        params = dict(params or {})
        self.between.get(len(self.calls), lambda numbers: None)(self.numbers)
        self.calls.append((name, params))
        if name != POOL:
            number = int(name.rsplit("p", 1)[1])
            if number not in self.numbers:
                raise NotFound("GET", name, "gone", status=404)
            return self._item(number)
        items = self.shown(params)
        self.largest = max(self.largest, len(items))
        return {"items": items} if items else {"kind": "x"}

    def _item(self, number: int) -> dict:
        return {"fullPath": path(number), "data": number}

    def shown(self, params: dict) -> list[dict]:
        paged = "$top" in params
        if paged and self.refuses_pages:
            raise Refused("GET", POOL, "no pages", status=400)
        if self.slow_whole and not paged and "$select" not in params:
            raise DeviceTimeout("GET", POOL, "slow")
        items = [*({"fullPath": f"/Other/p{n}"} for n in range(self.foreign)), *map(self._item, self.numbers)]
        if not self.filters_late:
            items = self._filtered(items, params)
        skip = int(params.get("$skip", 0)) if "$skip" not in self.without else 0
        top = int(params.get("$top", len(items))) if "$top" not in self.without else len(items)
        items = self._filtered(items[skip:skip + top], params)
        selects = "$select" in params and "$select" not in self.without
        return [{"fullPath": item["fullPath"]} for item in items] if selects else items

    def _filtered(self, items: list[dict], params: dict) -> list[dict]:
        return [item for item in items if "$filter" not in params or item["fullPath"].startswith("/Common/")]


def read(device: Device, *, large: bool = True) -> list[int]:
    return [item["data"] for item in pages.items(device, POOL, FILTER, expand=True, large=large)]


@pytest.mark.parametrize(("device", "largest"), [
    pytest.param({}, COUNT, id="as documented"),
    pytest.param({"foreign": 700, "filters_late": True}, COUNT, id="filtered after pages are made"),
    pytest.param({"foreign": 700}, COUNT, id="filtered before"),
    pytest.param({"without": ("$top", "$skip")}, COUNT, id="neither has an effect"),
    pytest.param({"without": ("$skip",)}, COUNT, id="$skip has none"),
    pytest.param({"without": ("$top",)}, COUNT, id="$top has none"),
    pytest.param({"without": ("$select",)}, COUNT, id="$select has none"),
    pytest.param({"refuses_pages": True}, COUNT, id="refused"),
    pytest.param({"slow_whole": True}, COUNT, id="too slow as a whole"),
    pytest.param({"numbers": []}, 0, id="empty"),
    pytest.param({"numbers": list(range(pages.PAGE))}, pages.PAGE, id="one page"),
])
@pytest.mark.parametrize("large", [False, True])
def test_every_item_once(device, largest, large):
    device = Device(**device)
    assert sorted(read(device, large=large)) == sorted(device.numbers)
    assert device.largest == largest, "that of the names"


def test_no_reply_has_more_than_a_page():
    device = Device()
    read(device)
    sizes = [params for _, params in device.calls if "$select" not in params]
    assert [(params["$top"], params["$skip"]) for params in sizes] == [
        (str(pages.PAGE), str(skip)) for skip in (0, pages.PAGE, 2 * pages.PAGE)]
    assert all(params["expandSubcollections"] == "true" for params in sizes)
    assert "expandSubcollections" not in device.calls[0][1]


def test_a_small_collection_is_one_call():
    device = Device()
    read(device, large=False)
    assert len(device.calls) == 1


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize("position", [0, pages.PAGE + 3, COUNT - 2])
def test_an_object_goes_between_two_pages(call, position):
    """All behind it move: the one that slips from a page that is still to come is read by itself."""
    device = Device(between={call: lambda numbers: numbers.pop(position)})
    seen = read(device)
    assert set(device.numbers) <= set(seen) <= set(range(COUNT))
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_object_comes_between_two_pages(call):
    """All behind it move, and some are in two pages."""
    device = Device(between={call: lambda numbers: numbers.insert(0, 77777)})
    seen = read(device)
    assert sorted(set(seen) - {77777}) == list(range(COUNT))
    assert len(seen) == len(set(seen))


def test_many_objects_go_between_two_pages():
    device = Device(between={2: lambda numbers: numbers.__delitem__(slice(0, 200))})
    seen = read(device)
    assert set(device.numbers) <= set(seen)
    assert len(seen) == len(set(seen))


def test_items_of_an_unknown_form_are_left_out():
    class Odd(Device):
        def shown(self, params):
            return [*super().shown(params)[:1], None, 7, {}]

    assert read(Odd(numbers=[1])) == [1]
