"""An unknown command: the nearest one is named, and none where none is near."""

import sys

import pytest

import gpufleet.cli as program


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["gpufleet", *arguments])
        with pytest.raises(SystemExit) as stop:
            program.main()
        captured = capsys.readouterr()
        return stop.value.code, captured.out + captured.err

    return run


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("complie", "compile"),
        ("Compile", "compile"),
        ("explian", "explain"),
        ("adit", "audit"),
        ("rightsise", "rightsize"),
    ],
)
def test_a_slip_is_answered_with_the_command(typed: str, meant: str, said) -> None:
    code, text = said(typed, "fleet.yaml")
    assert code == 2
    assert f"did you mean {meant}?" in text


def test_nothing_far_is_proposed_and_a_name_adds_no_line(said) -> None:
    code, text = said("kubernetes\n::error::abc")
    assert code == 2
    assert "gpufleet --help lists them" in text
    assert not [line for line in text.splitlines() if line.startswith("::")]


def test_options_before_a_command_are_read_as_before(said) -> None:
    assert "--help" in said("--help")[1]
    assert said("--nothing")[0] == 2
