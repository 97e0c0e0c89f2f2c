"""The union of what parts contribute, while some of them are older than others."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.desired.contributions import Contributions
from f5router.model.ltm import CertFile, Object, Record, ServerSSL
from f5router.model.objects import Ref

PARTS = [0, 1, 2, 3]
OLD, NEW = (CertFile(f"/Common/{name}.crt") for name in ("old", "new"))


def profile(number: int, authorities: CertFile) -> ServerSSL:
    return ServerSSL(f"/Common/{number}", ca_file=authorities.path, authenticate_name="web.example.com",
                     parent="/Common/serverssl")


def contribution(*objects: Object) -> dict[Ref, Object]:
    return {obj.ref: obj for obj in objects}


def chosen(versions: dict[int, CertFile]) -> dict[Ref, Object]:
    """Profiles by number, each with the file that it needs."""
    return contribution(*(profile(number, file) for number, file in versions.items()), *versions.values())


@given(st.lists(st.tuples(st.sampled_from(PARTS), st.dictionaries(
    st.integers(0, 2), st.sampled_from([OLD, NEW, CertFile("/Common/third.crt")])))))
def test_the_union(steps):
    """Each object is what a part contributes, of these what changed last, and what it needs is there."""
    objects: dict[Ref, Object] = {}
    union, contributed = Contributions(objects), {number: {} for number in PARTS}
    news: dict[Ref, list[Object]] = {}
    for number, versions in steps:
        before, new, old = dict(objects), chosen(versions), contributed[number]
        for ref, obj in new.items():
            if old.get(ref) != obj:
                news[ref] = [each for each in news.get(ref, []) if each != obj] + [obj]
        changed = union.swap(old, new)
        contributed[number] = new
        held = {ref: [each[ref] for each in contributed.values() if ref in each]
                for ref in {ref for each in contributed.values() for ref in each}}
        assert objects == {ref: max(versions, key=news[ref].index) for ref, versions in held.items()}
        assert all(need in objects for obj in objects.values() for need in obj.dependencies)
        assert changed == {ref for ref in before.keys() | objects.keys()
                           if before.get(ref) != objects.get(ref)}


def test_a_part_without_news():
    """An older version that is contributed again does not come back."""
    objects: dict[Ref, Object] = {}
    union, old, new = Contributions(objects), contribution(profile(1, OLD)), contribution(profile(1, NEW))
    union.swap({}, old)
    assert union.swap({}, new) == new.keys()
    assert not union.swap(old, contribution(profile(1, OLD)))
    assert objects == new
    assert union.swap(new, {}) == new.keys()
    assert objects == old
    assert union.swap(old, {}) == old.keys()
    assert not objects


def test_an_object_that_needs_something_else_is_another_version():
    """It is equal on the device, and must wait for other objects."""
    objects: dict[Ref, Object] = {}
    union = Contributions(objects)
    old, new = (contribution(Record("/Common/dg", "a", "b", extra_dependencies=frozenset({file.ref})))
                for file in (OLD, NEW))
    union.swap({}, old)
    assert union.swap(old, new) == new.keys()
    assert [obj.dependencies for obj in objects.values()] == [obj.dependencies for obj in new.values()]
    union.swap({}, old)
    assert [obj.dependencies for obj in objects.values()] == [obj.dependencies for obj in old.values()]
    union.swap(old, {})
    assert [obj.dependencies for obj in objects.values()] == [obj.dependencies for obj in new.values()]
