"""Large YAML is read piece by piece, to the same data and the same lines."""

import pytest
import yaml

from gpufleet.documents import pieces as module
from gpufleet.documents.limits import Limits, UnreadableDocumentError
from gpufleet.documents.pieces import pieces
from gpufleet.documents.reading import read_manifests
from tests.reading import yaml_data

POD = """\
- apiVersion: v1
  kind: Pod
  metadata:
    name: pod-{0}
    annotations:
      text: |
        - no item
        ---
        items:
  spec:
    containers:
    - name: main
      args:
      - a{0}
"""
LIST = "apiVersion: v1\nitems:\n{}kind: List\nmetadata:\n  resourceVersion: ''\n"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANIFESTS", Limits(size=700, depth=100, values=1000))


def pods(text: str) -> list[tuple[str, int, int]]:
    """Name of each pod, its line, and the line of its argument."""
    found: list[tuple[str, int, int]] = []
    for piece, above in pieces(text):
        for document in read_manifests(piece, above=above):
            items = document.data.get("items")
            members = (
                [document.member(("items", i), one) for i, one in enumerate(items)]
                if items
                else [document]
            )
            for one in members:
                steps = ("spec", "containers", 0, "args", 0)
                found.append((one.data["metadata"]["name"], one.line, one.line_of(steps)))
    return found


@pytest.mark.parametrize("head", ["", "# a comment\n", "---\n"])
def test_items_of_a_list_have_their_lines(head: str):
    text = head + LIST.format("".join(POD.format(number) for number in range(20)))
    lines = text.splitlines()
    found = pods(text)
    assert len(list(pieces(text))) > 5
    assert [name for name, _, _ in found] == [f"pod-{number}" for number in range(20)]
    for number, (_, line, argument) in enumerate(found):
        assert lines[line - 1] == "- apiVersion: v1"
        assert lines[argument - 1].strip() == f"- a{number}"


def test_documents_of_a_stream_have_their_lines():
    single = yaml.safe_dump(yaml_data(POD.format("x"))[0])
    text = "".join(f"---\n{single}" for _ in range(9)) + LIST.format(POD.format(1) * 6)
    text = text.replace("apiVersion: v1\nitems", "---\napiVersion: v1\nitems")
    found = pods(text)
    assert len(found) == 15
    lines = text.splitlines()
    assert all(lines[argument - 1].strip() in ("- ax", "- a1") for _, _, argument in found)


def test_one_document_beyond_the_limit_is_refused():
    with pytest.raises(UnreadableDocumentError, match="more than the limit"):
        list(pieces("a: " + "x" * 800))
    with pytest.raises(UnreadableDocumentError, match="more than the limit"):
        list(pieces(LIST.format(POD.format("x" * 800))))
