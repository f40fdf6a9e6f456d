"""Names of files with line feeds: no line of the output begins with what they hold.

GitHub Actions takes a line that begins with `::error` as a command (docs.github.com, Workflow
commands for GitHub Actions).
"""

import sys
from pathlib import Path

import pytest

import gpufleet.cli as program

NAME = "x\n::error file=a::abc\ny.yaml"
FLEET = """catalogue: "2026.11"
platform: sandbox
cluster: {name: a}
pools:
  - {name: p, gpu: L4, nodes: {min: 0, max: 1}, "k\\n::error file=b::abc": 1}
"""
WITH_A_FILE = [
    ("compile",),
    ("explain",),
    ("check",),
    ("adopt",),
    ("plan",),
    ("size",),
    ("mirror",),
    ("calendar",),
    ("audit",),
    ("audit", "--format", "junit"),
    ("audit", "--format", "github"),
    ("audit", "--format", "markdown"),
    ("pack",),
    ("render",),
    ("preflight",),
    ("own",),
]


def said(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["gpufleet", *arguments])
    with pytest.raises(SystemExit) as stop:
        program.main()
    captured = capsys.readouterr()
    assert stop.value.code in {1, 2}, captured
    return [line.strip() for line in (captured.out + captured.err).splitlines()]


@pytest.mark.parametrize("words", WITH_A_FILE, ids=" ".join)
@pytest.mark.parametrize(
    "text", [None, "a: [", "- a", FLEET], ids=["not there", "not closed", "a list", "a fleet"]
)
def test_no_line_is_a_command(
    words: tuple[str, ...],
    text: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(NAME).write_text(text)
    lines = said([words[0], NAME, *words[1:]], monkeypatch, capsys)
    assert lines
    assert [line for line in lines if line.startswith(("::error file=a", "::error file=b"))] == []


def test_a_missing_baseline_and_settings_are_named_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fleet.yaml").write_text(FLEET)
    for option in ("--baseline", "--config"):
        lines = said(["audit", "fleet.yaml", option, NAME], monkeypatch, capsys)
        assert not [line for line in lines if line.startswith("::")]
