"""The quick reader of plain YAML: what it reads at all, it reads as the whole reader does."""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.public_manifests import manifests, write_manifests
from gpufleet_policies.facts.tristate import UNKNOWN
from gpufleet_policies.readers.plain_yaml import MAX_OPEN, MAX_TEXT, plain_documents
from gpufleet_policies.readers.yaml_text import read_documents

FILES = [documents for _, documents, _ in manifests(60)]


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [at, *(path for key, child in inner for path in paths(child, (*at, key)))]


def same(text: str | bytes) -> bool:
    """Whether the quick reader read it; if so, everything it said is what the other one says."""
    written = text.encode() if isinstance(text, str) else text
    quick = plain_documents(written)
    if quick is None:
        return False
    whole = read_documents(written)
    assert quick == whole, text
    for one, other in zip(quick, whole, strict=True):
        assert repr(one.data) == repr(other.data), "types and order too"
        for path in paths(other.data):
            for asked in (path, (*path, "nothing"), (*path, 99)):
                assert one.located(asked) == other.located(asked), (text, asked)
    return True


PLAIN = {
    "a manifest": "# c\n\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {}\nspec:\n"
    "  containers:\n  - name: x  # said\n    args: [a, 'b c', \"--d\", -e, 8]\n"
    '    image: "r/x:1"\n  - name: y\n    resources:\n      limits:\n'
    '        nvidia.com/gpu: 1\n        "cpu": 500m\n',
    "indented lists": "a:\n  - b: 1\n    c:\n      - d\n      - e: ~\n  - f\ng: 2\n",
    "lists beside their key": "a:\n- b: 1\n  c:\n  - d\n- f\ng: 2\n",
    "documents": "---\na: 1\n---\n---\n# nothing\n---\nb:\n---\nc:\n  - d\n",
    "empty values": "a:\nb:\n  c:\n  d: 1\ne:\n-   f:\n    g: 1\n-   h:\n",
    "scalars": "a: yes\nb: 0x1F\nc: 1_000\nd: ~\ne: null\nf: 12:30\ng: .5\nh: -1e3\ni: 2020-01-01\n"
    "m: http://x:80/a#b\nk: a  b\nl: -x\nj: --\nr: $(A)\no: =\np: .inf\nq: 1.0\n",
    "quotes": 'a: "b\\n\\"c\\\\"\nb: \'it\'\'s\'\n\'c d\': ""\n"e": \'\' # x\nf: "a: b"\n',
    "literal text": "a: |\n  b: 1\n    c\n\n  d\n\n\ne: |-\n  x\n  # y\nf:\n  - |\n    z\n  - 2\n",
    "words beyond ASCII": "# für\na: größe - 漢字 🙂\nb: 'é'\n",
    "a key twice": "a: 1\nb:\n  c: 1\na: 2\nb:\n  d: 1\n",
    "a value to come": "a: 04da6b54-80e4-46f7-96ec-b56ff0331ba9\nb: 1\n",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_text_is_read_here(name: str):
    assert same(PLAIN[name]), "left to the whole reader"


def test_values_to_come_are_unknown():
    (document,) = plain_documents(PLAIN["a value to come"].encode()) or []
    assert document.data["a"] is UNKNOWN


OTHER = {
    "anchor": "a: &x 1\nb: *x\n",
    "merge": "a:\n  <<: {b: 1}\n",
    "escape in a key": '"nvidia\\x2ecom/gpu": 1\n',
    "escape in a value": 'a: "nvidia\\x2ecom/gpu"\n',
    "tag": "a: !!str 1\n",
    "folded": "a: >\n  b\n  c\n",
    "kept line ends": "a: |+\n  b\n\n",
    "indented header": "a: |2\n   b\n",
    "literal at the end": "a: |\n  b",
    "empty literal": "a: |\nb: 1\n",
    "continued": "a: b\n  c\n",
    "continued below": "a:\n  b\n",
    "quoted over lines": 'a: "b\n  c"\n',
    "flow mapping": "a: {b: 1}\n",
    "flow over lines": "a: [b,\n  c]\n",
    "nested dashes": "- - a\n",
    "lone dash": "-\n  a: 1\n",
    "tab": "a:\tb\n",
    "carriage return": "a: b\r\nc: d\r\n",
    "line separator": "a: b\u2028c: d\n",
    "next line": "a: b\x85c: d\n",
    "byte order mark": "\ufeffa: 1\n",
    "null byte": "a: \0\n",
    "template": "a: {{ .b }}\n",
    "directive": "%YAML 1.1\n---\na: 1\n",
    "end of document": "a: 1\n...\nb: 2\n",
    "text after the mark": "--- a\n",
    "boolean key": "on: 1\n",
    "number key": "1: a\n",
    "key with spaces": "a b: c\n",
    "question": "? a\n: b\n",
    "two values": "a: b: c\n",
    "colon at the end": "- a b:\n",
    "wrong indent": "a:\n    b: 1\n  c: 2\n",
    "list in a mapping": "a: 1\n- b\n",
    "mapping in a list": "- a\nb: 1\n",
    "scalar alone": "a\n",
    "bad number": "a: !!int x\n",
    "alias": "a: *b\n",
    "percent": "a: %b\n",
    "at": "a: @b\n",
    "long key": f"{'k' * 300}: 1\n",
    "depth": "".join(f"{' ' * n}a:\n" for n in range(MAX_OPEN + 2)),
}


@pytest.mark.parametrize("name", OTHER)
def test_everything_else_is_left_to_the_whole_reader(name: str):
    assert plain_documents(OTHER[name].encode()) is None


SLOW = {
    "blanks in a list": "a: [" + "a  ," * 5_000 + "!\n",
    "blanks and no comma": "a: [" + "a " * 50_000 + "!]\n",
    "quotes": "a: '" + "''" * 50_000 + "x\n",
    "escapes": 'a: "' + "\\n" * 50_000 + "x\n",
    "long text": 'a: "' + "x" * 500_000 + '"\n',
    "blanks": "a:" + " " * 500_000 + "\n",
    "dashes": "- " * 200_000 + "\n",
    "literals": "a:\n" + "- |\n  x\n" * 50_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_no_text_takes_long(name: str):
    """Time grows with the length: a pattern that tries every way would take for ever."""
    started = time.process_time()
    plain_documents(SLOW[name].encode())
    assert time.process_time() - started < 10


def test_text_that_is_not_utf_8_or_too_long_is_left():
    assert plain_documents(b"a: \xff\n") is None
    assert plain_documents(b"a: 1\n" * (MAX_TEXT // 5 + 1)) is None


def test_public_manifests_are_read_here(tmp_path: Path):
    left = [path.name for path in write_manifests(tmp_path, 60) if not same(path.read_bytes())]
    assert left == []


@pytest.mark.parametrize("seed", range(4))
def test_damaged_manifests_read_alike_or_not_at_all(seed: int):
    chance = random.Random(seed)
    pieces = [
        " ",
        "\n",
        "  ",
        "- ",
        ": ",
        "#",
        " #",
        '"',
        "'",
        "&a ",
        "*a",
        "|",
        "|-\n",
        ">",
        "[",
        "]",
    ]
    pieces += [
        "{}",
        "{",
        "---\n",
        "...\n",
        "\\",
        "!",
        "%",
        "<<: ",
        "\t",
        "~",
        "é",
        "\u2028",
        "?",
        ",",
    ]
    for documents in FILES[seed::4]:
        text = "---\n".join(
            yaml.dump(d, sort_keys=False, default_flow_style=False) for d in documents
        )
        for _ in range(12):
            damaged = text
            for _ in range(chance.choice((1, 1, 2, 4))):
                at = chance.randrange(len(damaged))
                cut = at + chance.choice((0, 0, 1, 2, 5))
                damaged = damaged[:at] + chance.choice(pieces) + damaged[cut:]
            same(damaged)


VALUES = [
    "",
    "x",
    "1",
    "x # c",
    "#c",
    '"s"',
    "'s'",
    '"s" t',
    "[a, b]",
    "[a, ]",
    "{}",
    "[ ]",
    "---",
    "x: y",
    "x:",
    "~",
    "-",
    "--",
    "&a",
    "''",
    "x  ",
    "'a''b'",
    "?x",
    "[-, a]",
    "[a b,'c']",
    "[a:b]",
    '["a":b]',
    "a#b",
    ":",
    ":x",
    "[--a]",
    "0o7",
    "<<",
    '"\\n"',
    "|",
    "|-",
    "| # c",
]
LINE = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", " ", "  ", "   ", "    "]),
    st.sampled_from(["", "", "- ", "-   ", "- - ", "-"]),
    st.sampled_from(["", "a: ", "b:", "a.b/c: ", '"q": ', "'r': ", "on: ", "a:b", "- "]),
    st.sampled_from(VALUES),
)


@given(st.lists(LINE, max_size=9), st.sampled_from(["", "\n"]))
@settings(max_examples=600, deadline=None)
def test_any_lines_read_alike_or_not_at_all(lines: list[str], end: str):
    same("\n".join(lines) + end)


@given(st.text(alphabet="ab:- \n#'\"[],{}|~1", max_size=14))
@settings(max_examples=600, deadline=None)
def test_any_characters_read_alike_or_not_at_all(text: str):
    same(text)


@given(
    st.recursive(
        st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.none()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_any_dumped_data_reads_alike_or_not_at_all(data: Any):
    same(yaml.dump(data, allow_unicode=True, default_flow_style=False))
    same(json.dumps(data))
