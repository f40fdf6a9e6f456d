"""Errors of a document that is not a FleetSpec use YAML's words, not Python's."""

import pytest

from gpufleet.spec.document import UnreadableDocumentError, read_document


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1", "the document is a number, not a mapping"),
        ("null", "the document is empty, not a mapping"),
        ("[]", "the document is a list, not a mapping"),
        ("true", "the document is a truth value, not a mapping"),
        ("? [1, 2]\n: 3", "line 1: the key is read as a list, not as text"),
        ("yes: 1", "line 1: the key 'yes' is read as a truth value, not as text"),
        ("a: 1\n2024-01-01: 1", "line 2: the key '2024-01-01' is read as a date, not as text"),
        ("a: 2024-13-45", "a value cannot be read: month must be in 1..12"),
        (
            "a: " + "9" * 5000,
            "a value cannot be read: a number has thousands of digits: write a smaller one",
        ),
    ],
)
def test_what_was_read_is_named(text: str, said: str) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read_document(text)
    assert said in str(caught.value)
    assert "sys." not in str(caught.value)
