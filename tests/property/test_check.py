"""`gpufleet check` of any input: a result of the promised form, always the same."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.contract.programs.validation import Judgement
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import KINDS, validate_text
from tests.examples import examples
from tests.policies.configurations.case_rows import FINE
from tests.policies.configurations.rule_cases import CASES
from tests.property.mutated_configs import cases

WORDS = sorted(
    {
        word.strip("\"'")
        for rows in CASES.values()
        for _, broken, _, _ in rows
        for word in broken.replace("{", " ").replace("}", " ").replace("[", " ").split()
        if len(word) < 40
    }
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 100),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from(WORDS),
    st.text(max_size=12),
)
KEYS = st.sampled_from([word.rstrip(":") for word in WORDS])
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=25,
)
KIND = st.sampled_from(list(KINDS))


def validated(kind: str, text: str | bytes, **circumstances: Any) -> Judgement | None:
    try:
        return validate_text(kind, text, **circumstances)
    except UnreadableDocumentError:
        return None


def check_shape(answer: Judgement | None) -> None:
    if answer is None:
        return
    document = json.loads(json.dumps(answer.as_dict(), default=str))
    assert document["verdict"] in {"accept", "warn", "reject"}
    severities = {finding["severity"] for finding in document["findings"]}
    expected = (
        "reject" if "error" in severities else "warn" if "warning" in severities else "accept"
    )
    assert document["verdict"] == expected
    assert all(finding["code"] and finding["message"] for finding in document["findings"])
    if document["advertises"] is not None:
        assert document["verdict"] != "reject"
        assert all(n > 0 for n in document["advertises"]["allocatable"].values())


@settings(max_examples=examples(150), deadline=None)
@given(kind=KIND, data=DATA)
def test_any_data_gets_an_answer(kind: str, data: Any) -> None:
    check_shape(validated(kind, json.dumps(data), gpu="A100-80GB"))


@settings(max_examples=examples(80), deadline=None)
@given(kind=KIND, text=st.one_of(st.text(max_size=60), st.binary(max_size=60)))
def test_any_text_gets_an_answer(kind: str, text: str | bytes) -> None:
    check_shape(validated(kind, text))


@settings(max_examples=examples(80), deadline=None)
@given(kind=KIND, row=st.data(), context=DATA)
def test_any_context_gets_an_answer(kind: str, row: st.DataObject, context: Any) -> None:
    _, broken, _, _ = row.draw(st.sampled_from(CASES[kind]))
    check_shape(validated(kind, broken, context=context))


@settings(max_examples=examples(120), deadline=None)
@given(
    kind=KIND,
    row=st.data(),
    at=st.integers(0, 400),
    length=st.integers(0, 6),
    new=st.text(max_size=4),
)
def test_damaged_documents_get_an_answer(
    kind: str, row: st.DataObject, at: int, length: int, new: str
) -> None:
    _, broken, _, circumstances = row.draw(st.sampled_from(CASES[kind]))
    at = min(at, len(broken))
    check_shape(validated(kind, broken[:at] + new + broken[at + length :], **circumstances))


@settings(max_examples=examples(500), deadline=None)
@given(kind=KIND, row=st.data(), new=DATA)
def test_documents_with_one_foreign_value_get_an_answer(
    kind: str, row: st.DataObject, new: Any
) -> None:
    """Any value in any place of a document that is otherwise validated in depth."""
    _, broken, fine, circumstances = row.draw(st.sampled_from(CASES[kind]))
    try:
        document = read_go(row.draw(st.sampled_from([broken, fine or FINE[kind]]))).data
    except UnreadableDocumentError:
        return
    places = list(_places(document))
    path = row.draw(st.sampled_from(places))
    if path:
        parent = document
        for step in path[:-1]:
            parent = parent[step]
        parent[path[-1]] = new
    check_shape(validated(kind, json.dumps(document), **circumstances))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in (*items, *(enumerate(value) if isinstance(value, list) else ())):
        yield from _places(inner, (*path, key))


def test_the_same_document_always_gets_the_same_answer() -> None:
    for case in cases(5, 300):
        arguments: dict[str, Any] = {
            "gpu": case.gpu, "select": case.select, "context": case.context or None
        }  # fmt: skip
        first, second = (validated(case.kind, case.text, **arguments) for _ in range(2))
        assert (first and first.as_dict()) == (second and second.as_dict())
        check_shape(first)


def test_verdicts_are_ordered_by_badness() -> None:
    assert list(Verdict) == [Verdict.ACCEPT, Verdict.WARN, Verdict.REJECT]
