"""Three modes of one reader: plain documents are the same in all of them, with the same lines."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.public_manifests import write_manifests
from gpufleet.documents.document import Document
from gpufleet.documents.limits import CONFIGURATION, MANIFESTS, UnreadableDocumentError
from gpufleet.documents.reading import read_go, read_json, read_manifests, read_strict
from gpufleet.documents.writing import yaml_stream, yaml_text
from tests.examples import examples


def kubernetes(text: str | bytes) -> Document:
    return next(read_manifests(text), Document(None))


MODES: dict[str, Callable[[str | bytes], Document]] = {
    "strict": read_strict,
    "Go": read_go,
    "Kubernetes": kubernetes,
}


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [at, *(path for key, child in inner for path in paths(child, (*at, key)))]


def same_in_all_modes(text: str | bytes) -> Any:
    """The data of a text, which every mode reads to the same value at the same lines."""
    strict, *others = [read(text) for read in MODES.values()]
    for other in others:
        assert repr(other.data) == repr(strict.data), "types and order too"
        assert other.line == strict.line
        for path in paths(strict.data):
            for asked in (path, (*path, "nothing"), (*path, 99)):
                assert other.located(asked) == strict.located(asked), (text, asked)
    return strict.data


PLAIN = {
    "a manifest": "# c\n\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {}\nspec:\n"
    "  containers:\n  - name: x  # said\n    args: [a, 'b c', \"--d\", -e, 8]\n"
    '    image: "r/x:1"\n  - name: z\n    resources:\n      limits:\n'
    '        nvidia.com/gpu: 1\n        "cpu": 500m\n',
    "indented lists": "a:\n  - b: 1\n    c:\n      - d\n      - e: ~\n  - f\ng: 2\n",
    "lists at the column of their key": "a:\n- b: 1\n  c:\n  - d\n- f\ng: 2\n",
    "empty values": "a:\nb:\n  c:\n  d: 1\ne:\n-   f:\n    g: 1\n-   h:\n",
    "scalars": "a: yes\nb: 0x1F\nc: 1_000\nd: ~\ne: null\ng: .5\ni: x1\n"
    "m: http://x:80/a#b\nk: a  b\nl: -x\nj: --\nr: $(A)\nq: 1.0\n",
    "quotes": 'a: "b\\n\\"c\\\\"\nb: \'it\'\'s\'\n\'c d\': ""\n"e": \'\' # x\nf: "a: b"\n',
    "literal text": "a: |\n  b: 1\n    c\n\n  d\n\n\ne: |-\n  x\n  # y\nf:\n  - |\n    z\n  - 2\n",
    "folded text": "a: >\n  b\n  c\n",
    "words beyond ASCII": "# für\na: größe - 漢字 🙂\nb: 'é'\n",
    "aliases": "a: &x {b: 1}\nc: *x\n",
    "merge key": "a:\n  <<: {b: 1, c: 1}\n  c: 2\n",
    "merge of several": "a:\n  <<: [{b: 1}, {b: 2, c: 2}]\n  d: 3\n",
    "tag": "a: !!str 1\nb: !!float 3\nc: !!int 1\n",
    "flow over lines": "a: [b,\n  {c: d,\n  e: f}]\n",
    "carriage return": "a: b\r\nc: d\r\n",
    "byte order mark": "\ufeffa: 1\n",
    "JSON": '{"a": [1, {"b": null, "c": "\\u00e9"}],\n "d": true}',
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_text_is_the_same_in_every_mode(name: str) -> None:
    assert isinstance(same_in_all_modes(PLAIN[name]), dict)


def test_public_manifests_are_the_same_in_every_mode(tmp_path: Path) -> None:
    for file in write_manifests(tmp_path, 60):
        for document in file.read_text().split("\n---\n"):
            same_in_all_modes(document)


DIFFERENT: dict[str, tuple[str, dict[str, Any]]] = {
    "octal": ("a: 0o17", {"strict": {"a": "0o17"}, "Go": {"a": 15}}),
    "sexagesimal": ("a: 12:30", {"strict": {"a": 750}, "Go": {"a": "12:30"}}),
    "exponent": ("a: 1e3", {"strict": {"a": "1e3"}, "Go": {"a": 1000.0}}),
    "short boolean": ("a: y", {"strict": {"a": "y"}, "Go": {"a": True}}),
    "number as key": ("1: a", {"strict": "put it in quotes", "Go": {"1": "a"}}),
    "null as key": (
        "~: a",
        {"strict": "quotes", "Go": "cannot be a key", "Kubernetes": {"~": "a"}},
    ),
    "key twice": ("a: 1\na: 2", {"strict": "written twice", "Go": {"a": 2}}),
    "late merge": ("a: 1\n<<: {a: 2}", {"strict": {"a": 1}, "Go": {"a": 2}}),
    "two documents": ("a: 1\n---\nb: 2", {"strict": "one document per file", "Go": {"a": 1}}),
    "unknown tag": ("a: !x 1", {"strict": "constructor for the tag '!x'", "Go": {"a": "1"}}),
    "tab": ("a:\n\t- b", {"strict": "line 2, column 1: a tab", "Go": "line 2, column 1: a tab"}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DIFFERENT)
def test_modes_differ_as_the_programs_do(name: str, mode: str) -> None:
    text, results = DIFFERENT[name]
    expected = results.get(mode, results["Go"])
    if isinstance(expected, str):
        with pytest.raises(UnreadableDocumentError, match=expected):
            MODES[mode](text)
    else:
        assert MODES[mode](text).data == expected


@pytest.mark.parametrize("mode", MODES)
def test_limits_are_the_stated_ones(mode: str) -> None:
    limits = MANIFESTS if mode == "Kubernetes" else CONFIGURATION
    MODES[mode]("a: " + "[" * (limits.depth - 1) + "]" * (limits.depth - 1))
    MODES[mode](b"#" * limits.size)
    for text, words in (
        ("a: " + "[" * limits.depth + "]" * limits.depth, f"nested deeper than {limits.depth}"),
        (b"#" * (limits.size + 1), f"more than the limit of {limits.size >> 20} MiB"),
        ("[" * 200_000, "nested deeper than"),
        ("- " * 200_000 + "a", "nested deeper than"),
        ("a: &a [*a]", "line 1: an alias contains itself"),
        ("a: \x00", "characters are not allowed"),
        ("a: \ud800", "not UTF-8"),
        (b"a: \xff", "byte 3: this is not UTF-8 text"),
    ):
        with pytest.raises(UnreadableDocumentError, match=words):
            MODES[mode](text)


def test_json_is_bounded_too() -> None:
    assert read_json('{"a": [1, null]}', lambda value: str(value)) == {"a": ["1", "None"]}
    for text, words in (
        ("[" * 200_000, "nested deeper than 100 levels"),
        ("[" * 101 + "]" * 101, "nested deeper than 100 levels"),
        ("{", "not valid JSON: Expecting property name"),
        ("9" * 5000, "not valid JSON"),
    ):
        with pytest.raises(UnreadableDocumentError, match=words):
            read_json(text)


SLOW = {
    "blanks in a list": "a: [" + "a  ," * 5_000 + "!\n",
    "quotes": "a: '" + "''" * 50_000 + "x\n",
    "escapes": 'a: "' + "\\n" * 50_000 + "x\n",
    "long text": 'a: "' + "x" * 500_000 + '"\n',
    "blanks": "a:" + " " * 500_000 + "\n",
    "literals": "a:\n" + "- |\n  x\n" * 50_000,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SLOW)
def test_no_text_takes_long(name: str, mode: str) -> None:
    started = time.process_time()
    with suppress(UnreadableDocumentError):
        MODES[mode](SLOW[name])
    assert time.process_time() - started < 10


@given(st.text(alphabet="ab:- \n#'\"[],{}|~1&*!<?%\t.", max_size=24))
@settings(max_examples=examples(500), deadline=None)
def test_any_text_is_read_or_refused_in_every_mode(text: str) -> None:
    for read in MODES.values():
        with suppress(UnreadableDocumentError):
            assert read(text).line >= 1


TEXT = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["yes", "No", "on", "null", "~", "1e3", "1:30", "0x1f", "0o7", "12", "a: b", "#x", "<<", "x\n"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXT, VALUES, max_size=5))
@settings(deadline=None)
def test_every_mode_reads_what_is_written(document: dict[str, Any]) -> None:
    assert same_in_all_modes(yaml_text(document)) == document


@given(st.lists(st.dictionaries(TEXT, VALUES, min_size=1, max_size=3), min_size=1, max_size=3))
@settings(deadline=None)
def test_kubernetes_reads_the_stream_that_is_written(documents: list[dict[str, Any]]) -> None:
    assert [found.data for found in read_manifests(yaml_stream(documents))] == documents
