"""documents.py: replies are split into objects, and what one of them holds costs no other."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.kube.api import documents
from f5router.kube.api.documents import Document, Splitter, UnreadableDocument

TEXTS = st.text(st.sampled_from('ab"\\[]{}:,\n é\U0001f600'), max_size=8) | st.just("items")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=12)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=5)


def read(splitter: Splitter, text: bytes, sizes) -> list:
    """The values of all documents."""
    return [document.load() for document in split(splitter, text, sizes)]


def split(splitter: Splitter, text: bytes, sizes) -> list[Document]:
    """The documents of a text that comes in chunks of these sizes, again and again."""
    result, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        result += splitter.feed(text[at:at + size])
        at, turn = at + size, turn + 1
    return [*result, *splitter.end()]


@given(st.lists(OBJECTS, max_size=5), OBJECTS, OBJECTS, st.booleans(), SIZES)
def test_list(items, before, after, ascii_only, sizes):
    """Items and the rest of a list, wherever chunks end and whatever strings look like."""
    whole = {"kind": "List", "metadata": before, "items": items, "spec": after}
    splitter = Splitter(items=True)
    result = split(splitter, json.dumps(whole, ensure_ascii=ascii_only).encode(), sizes)
    assert [document.load() for document in result] == items
    assert splitter.around() == whole | {"items": []}


UNUSABLE = (b'{"a":"\\ud800"}', b'{"a":[1e999999]}', b'{"a":NaN}', b"[" * 101 + b"]" * 101, b'{"a":}', b"{a}",
            b'"text"', b"1")
BETWEEN = st.sampled_from((b",", b" ,\n", b"\t", b",,"))
ANYTHING = OBJECTS.map(lambda value: json.dumps(value).encode()) | st.sampled_from(UNUSABLE)


@given(st.lists(ANYTHING, max_size=6), BETWEEN, SIZES, st.booleans())
def test_documents_that_arrive_together(texts, between, sizes, items):
    """They are the same as in small chunks, with the same problems."""
    text = between.join(texts)
    whole = b'{"items":[' + text + b"]}" if items else text
    together, apart = (split(Splitter(items=items), whole, given) for given in ([1 << 16], sizes))
    assert [document.text for document in together] == [document.text for document in apart]
    assert list(map(result, together)) == list(map(result, apart))


def result(document: Document) -> object:
    """The value, or why there is none."""
    try:
        return document.load()
    except ValueError as exc:
        return type(exc), str(exc)


@given(st.lists(OBJECTS, max_size=5), SIZES)
def test_stream(values, sizes):
    text = "".join(json.dumps(value) + "\n" for value in values).encode()
    assert [document.load() for document in split(Splitter(), text, sizes)] == values


@given(OBJECTS, SIZES, st.data())
def test_what_is_cut_off(value, sizes, data):
    """It is never taken for the end."""
    text = json.dumps({"items": [value, {}]}).encode()
    cut = text[:data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(ValueError, match="cut off"):
        read(Splitter(items=True), cut, sizes)


@given(OBJECTS, st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=4), OBJECTS, st.booleans())
def test_members(before, plain, nested, inner):
    """Members of metadata are result without reading the rest; of what is nested in it, nothing."""
    metadata = plain | {"labels": nested, "name": "a"}
    other = {"metadata": {"name": "another"}}
    obj = {"xmetadata": before, "spec": other, "metadata": metadata, "last": before}
    result = Document(json.dumps({"object": obj} if inner else obj).encode())
    assert result.members(*(["object"] if inner else []), "metadata") == metadata | {"labels": None}


@pytest.mark.parametrize("items", [True, False])
@pytest.mark.parametrize("size", [1, 7, 65536])
def test_one_that_is_nested_too_deep(items, size):
    """Its name is known all the same, and those beside it are read."""
    deep = b"[" * 3000 + b"]" * 3000
    bad = b'{"metadata":{"name":"bad","labels":{"name":"no"}},"spec":' + deep + b"}"
    text = b'{"a":1}' + (b"," if items else b"\n") + bad + (b"," if items else b"\n") + b'{"b":2}'
    result = split(Splitter(items=items), b'{"items":[' + text + b"]}" if items else text, [size])
    assert [result[0].load(), result[2].load()] == [{"a": 1}, {"b": 2}]
    with pytest.raises(UnreadableDocument, match="is nested 3001 levels deep, at most 100 are read"):
        result[1].load()
    assert result[1].members("metadata") == {"name": "bad", "labels": None}


def test_depth_that_is_read():
    deep = b"[" * documents.MOST_LEVELS + b"]" * documents.MOST_LEVELS
    (result,) = split(Splitter(), deep, [50])
    assert result.load()


@pytest.mark.parametrize("fill", [b'{"x":"' + b"y" * 100 + b'"},', b'"\\\\\\"[",'],
                         ids=["objects", "strings"])
def test_one_that_is_too_large(fill):
    """It is not kept as a whole, and its name is known if it stands in the beginning."""
    many = fill * (documents.MOST_BYTES // len(fill) + 1) + b"0"
    text = b'{"items":[{"metadata":{"name":"big"},"spec":[' + many + b']},{"a":1}]}'
    result = split(Splitter(items=True), text, [65536])
    with pytest.raises(UnreadableDocument, match="is larger than 10 MiB"):
        result[0].load()
    assert len(result[0].text) == documents.MOST_BYTES
    assert result[0].members("metadata") == {"name": "big"}
    assert result[1].load() == {"a": 1}


@pytest.mark.parametrize(("text", "problem"), [
    pytest.param(b"1e999999", "a number", id="infinite"),
    pytest.param(b"-1e999999", "a number", id="minus infinite"),
    pytest.param(b"NaN", "a number", id="NaN"),
    pytest.param(b"-Infinity", "a number", id="Infinity"),
    pytest.param(b"1" * 100_000, "a number", id="100,000 digits"),
    pytest.param(b'"\\ud800"', "not Unicode", id="lone surrogate"),
    pytest.param(b'{"\\uDFFF": 1}', "not Unicode", id="lone surrogate in a key"),
    pytest.param(b'"\xed\xa0\x80"', "not Unicode", id="lone surrogate in bytes"),
    pytest.param(b'"\xff"', "not Unicode", id="no UTF-8"),
    pytest.param(b"[" * 50_000 + b"]" * 50_000, "too deep", id="deep"),
])
def test_what_cannot_be_used(text, problem):
    with pytest.raises(UnreadableDocument, match=problem):
        documents.loads(text)


@pytest.mark.parametrize(("text", "value"), [
    pytest.param(b'"\\ud83d\\ude00"', "\U0001f600", id="pair of surrogates"),
    pytest.param(b'"\\\\ud800"', "\\ud800", id="backslash"),
    pytest.param(b'{"a": 1, "a": 2}', {"a": 2}, id="the last of two keys, as in Go"),
    pytest.param(b'"\\u0000"', "\0", id="NUL"),
    pytest.param(b"1.5e3", 1500.0, id="number"),
])
def test_what_is_odd_but_good(text, value):
    assert documents.loads(text) == value


@pytest.mark.parametrize("text", [b"<html>", b'{"a"', b'{"a":[}', b"}", b'{"items":[}'])
def test_what_is_no_json(text):
    with pytest.raises(ValueError, match=r"cut off|Expecting|opened") as caught:
        read(Splitter(), text, [3])
    assert not isinstance(caught.value, UnreadableDocument)
