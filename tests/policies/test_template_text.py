"""Templates as text: each expression is found once, however many of them are never closed."""

from collections.abc import Callable

import pytest

from gpufleet_policies.readers.document_text import without_templates
from tests.doubling import assert_linear

UNCLOSED: dict[str, Callable[[int], str]] = {
    "one line": lambda count: "kind: {{ .Values." + "{{" * count,
    "a line each": lambda count: "x: {{ y\n" * count,
    "closed once": lambda count: "x: {{ y\n" * count + "}}\n" + "z: {{ y\n" * count,
}


@pytest.mark.parametrize("shape", UNCLOSED)
def test_twice_as_much_text_takes_twice_as_long(shape: str) -> None:
    assert_linear(lambda count: without_templates(UNCLOSED[shape](count)), 60_000)


@pytest.mark.parametrize("shape", UNCLOSED)
@pytest.mark.timeout(60)
def test_megabytes_of_unclosed_expressions_are_read_in_time(shape: str) -> None:
    without_templates(UNCLOSED[shape](300_000))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a: {{ .x }}", "a: gpufleet-template-value"),
        ("a: {{ .x }}-{{ .y }}", "a: gpufleet-template-value-gpufleet-template-value"),
        ("a: {{ .x", "a: {{ .x"),
        ("a: {{ .x }}{{ .y", "a: gpufleet-template-value{{ .y"),
        ("a: {{ {{ .x }}", "a: gpufleet-template-value"),
        ("a: {{}}", "a: gpufleet-template-value"),
        ("a: {{{.x}}}", "a: gpufleet-template-value}"),
        ("a: {{\n.x }}\nb: 1", "a: gpufleet-template-value\n\nb: 1"),
        ("{{- if .x }}\na: 1\n{{- end }}", "\na: 1\n"),
        ("  {{- toYaml .x | nindent 4 }}", "    gpufleet-template-lines: gpufleet-template-value"),
    ],
)
def test_what_is_read(text: str, read: str) -> None:
    assert without_templates(text) == read
