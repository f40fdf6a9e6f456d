"""YAML as NVIDIA's Go programs read it."""

import pytest

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe", "not UTF-8"),
        ("a: [", "line"),
        ("x" * ((1 << 20) + 1), "limit of"),
        ("[" * 50 + "]" * 50, "nested deeper than 40"),
        ("a: &a [*a]", "alias"),
        ("a: !!int x", "is no int"),
        ("? [a]\n: b", "cannot be a key"),
        ("null: a", "null cannot be a key"),
        ("<<: 3", "merged"),
    ],
)
def test_unreadable_text_says_why(text: str | bytes, words: str) -> None:
    with pytest.raises(UnreadableDocumentError, match=words):
        read_go(text)


def test_aliases_cannot_grow_without_limit() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [" + f"*{chr(97 + i)}, " * 9 + "]" for i in range(7)]
    with pytest.raises(UnreadableDocumentError, match="aliases represent more than"):
        read_go("\n".join(lines))


def test_yaml_types_are_those_of_go() -> None:
    read = read_go("a: y\nb: off\nc: 0o17\nd: 12:30\ne: 1_000\n1: x\ntrue: y\n1.5: z")
    assert read.data == {
        "a": True,
        "b": False,
        "c": 15,
        "d": "12:30",
        "e": 1000,
        "1": "x",
        "true": True,
        "1.5": "z",
    }
    assert read_go("a: 1\nb: {c: 1, c: 2}\na: 2").repeated == ("b.c", "a")
    assert read_go("a: 1\n---\nb: [").more_documents
    endless = "9" * 5000  # beyond what Python turns into a number; for Go it is text
    assert read_go(f"a: {endless}\nb: -{endless}").data == {"a": endless, "b": f"-{endless}"}
