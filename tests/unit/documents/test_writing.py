from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.documents.writing import ListOnOneLine, OnOneLine, yaml_stream, yaml_text
from tests.reading import yaml_data

TEXT = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["yes", "No", "on", "null", "~", "1e3", "1:30", "0x1f", "12", "a: b", "#x", "", " x", "x\n"]
)
SCALARS = st.none() | st.booleans() | st.integers() | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_is_written_is_read_back(document: dict[str, Any]) -> None:
    assert yaml_data(yaml_text(document)) == document


@pytest.mark.parametrize(
    "word", ["yes", "NO", "on", "off", "y", "n", "true", "Null", "~", "1g.5gb"]
)
def test_words_a_reader_could_mistake_are_quoted(word: str) -> None:
    assert yaml_text({"value": word}) == f'value: "{word}"\n'


def test_whole_lines_are_a_block() -> None:
    assert yaml_text({"data": {"a": "x: 1\n\ny: 2\n"}}) == "data:\n  a: |\n    x: 1\n\n    y: 2\n"


def test_lists_of_mappings_and_empty_ones() -> None:
    document = {"items": [{"a": 1, "b": [True, None]}, {}, []], "none": {}}
    text = "items:\n- a: 1\n  b:\n  - true\n  - null\n- {}\n- []\nnone: {}\n"
    assert yaml_text(document) == text
    assert yaml_data(text) == document


def test_a_stream_has_a_line_between_documents_and_comments_before() -> None:
    assert yaml_stream([{"a": 1}, {"b": 2}], "two\n\nthings") == (
        "# two\n#\n# things\na: 1\n---\nb: 2\n"
    )


def test_what_belongs_on_one_line_is_there_and_nothing_is_an_alias() -> None:
    layout = OnOneLine({"1g.5gb": 2, "all": 1})
    text = yaml_text({"a": ListOnOneLine([0, 1]), "b": [layout, layout]})
    assert text == 'a: [0, 1]\nb:\n- {"1g.5gb": 2, all: 1}\n- {"1g.5gb": 2, all: 1}\n'


@pytest.mark.parametrize("number", [0.5, 1e30, 1.5e-7, 1e-7, -2.0])
def test_numbers_are_numbers_for_every_reader(number: float) -> None:
    text = yaml_text({"a": number})
    assert yaml_data(text) == {"a": number}
    assert "!!" not in text
