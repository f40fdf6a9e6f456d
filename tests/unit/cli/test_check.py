"""`gpufleet check` as a program: verdict, exit code, text for people."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli import _program
from gpufleet.cli.output import UnreadableInputError
from tests.policies.configurations.case_rows import FINE


def run(*arguments: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(_program, ["check", *arguments], input=text, catch_exceptions=False)


@pytest.mark.parametrize("kind", list(FINE))
def test_accept_is_0(kind: str) -> None:
    result = run("--as", kind, "-", "--format", "json", text=FINE[kind])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["verdict"] == "accept"


def test_warn_is_0_and_reject_is_1() -> None:
    warned = run("--as", "device-plugin", "-", "--format", "json", text="version: v1\nversion: v1")
    assert (warned.exit_code, json.loads(warned.stdout)["verdict"]) == (0, "warn")
    text = FINE["mig-parted"].replace("1g.10gb: 7", "9g.9gb: 1")
    result = run("--as", "mig-parted", "-", "--gpu", "A100-80GB", "--format", "json", text=text)
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["verdict"], answer["advertises"]) == (1, "reject", None)
    assert set(answer) == {"verdict", "findings", "advertises", "notJudged", "waived"}
    finding = answer["findings"][0]
    assert set(finding) == {"code", "severity", "path", "message", "evidence", "fix"}


@pytest.mark.parametrize("text", ["", "# a comment\n", "---\n---\n"])
@pytest.mark.parametrize("kind", [one for one in FINE if not one.endswith("-values")])
def test_a_file_without_a_document_is_no_success(kind: str, text: str) -> None:
    with pytest.raises(UnreadableInputError, match="it has no document"):
        run("--as", kind, "-", text=text)


def test_an_empty_file_of_values_is_the_defaults_of_its_chart(tmp_path: Path) -> None:
    context = tmp_path / "context.json"
    context.write_text('{"images": ["al2023-nvidia"]}')  # it has a driver of its own
    result = run("--as", "gpu-operator-values", "-", "--context", str(context), text="")
    assert "gpu-operator-driver-in-image" in result.output


def test_unreadable_is_2_with_a_verdict() -> None:
    for text in ("a: [", b"\xff", "{{{{"):
        result = run("--as", "device-plugin", "-", "--format", "json", text=text)
        assert result.exit_code == 2
        answer = json.loads(result.stdout)
        assert answer["verdict"] == "reject"
        assert answer["findings"][0]["code"] == "document-unreadable"


def test_what_must_be_json_and_is_not_is_refused() -> None:
    result = run("--as", "rdma-shared-config", "-", "--format", "json", text='"configList": [}')
    assert result.exit_code == 1
    assert json.loads(result.stdout)["findings"][0]["code"] == "rdma-not-json"


def test_files_contexts_and_usage(tmp_path: Path) -> None:
    config, context = tmp_path / "c.yaml", tmp_path / "x.yaml"
    config.write_text(FINE["mig-parted"])
    context.write_text("gpu: H100-80GB\ngpusPerNode: 8\n")
    result = run("--as", "mig-parted", str(config), "--context", str(context))
    assert result.exit_code == 0
    assert "accept" in result.stdout
    assert "nvidia.com/mig-1g.10gb: 56" in result.stdout
    with pytest.raises(UnreadableInputError, match="No such file"):  # the program exits 2
        run("--as", "mig-parted", str(tmp_path / "none"))
    assert run("--as", "nonsense", str(config)).exit_code == 2
    assert run("--as", "mig-parted", "-", "--context", "-").exit_code == 2
    wrong = run("--as", "mig-parted", str(config), "--gpu", "H1000")
    assert wrong.exit_code == 1
    assert "gpu-unknown" in wrong.stdout
