"""Reports hold no credential of a manifest, and no character that shows something else."""

import json
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
import yaml
from click.testing import CliRunner

from gpufleet_policies.commands.audit import command
from gpufleet_policies.commands.audit_reports import FORMATS
from tests.examples import ALL, PART, part
from tests.policies.audit.test_command import IDLE
from tests.policies.cases import CASES
from tests.reading import yaml_data

TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz" + "0123456789"
NAMES = {"name", "namespace", "kind", "apiVersion"}
"""Parts of an object's name, which reports give as they are."""


def run(*arguments: str) -> str:
    return CliRunner().invoke(command, [*arguments, "--jobs", "1"], catch_exceptions=False).output


def texts(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places of all texts of a document."""
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    elif isinstance(value, str) and at[-1] not in NAMES:
        return [at]
    return [place for key, item in entries for place in texts(item, (*at, key))]


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    if isinstance(value, dict):
        return {k: replaced(v, place[1:], new) if k == place[0] else v for k, v in value.items()}
    return [replaced(v, place[1:], new) if i == place[0] else v for i, v in enumerate(value)]


def test_no_message_repeats_a_token_from_any_field(tmp_path: Path):
    """Each text of each bad object of the case table, one after the other, is a token; a part of
    the texts of each object with each commit."""
    documents: list[Any] = []
    for number, case in enumerate(CASES):
        if case.bad.is_manifest:
            document = case.bad.properties
            places = part(texts(document), number)
            documents += [replaced(document, at, TOKEN) for at in places]
    assert len(documents) > (500 if ALL else 500 // PART)
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    files = {name: tmp_path / f"report-{name}" for name in FORMATS}
    outputs = [word for name, file in files.items() for word in ("--output", f"{name}={file}")]
    run(str(path), "--profile", "strict", *outputs)
    for output_format, file in files.items():
        report = file.read_text()
        assert len(report) > 10_000
        if output_format == "json":
            for finding in json.loads(report)["findings"]:
                # Patches hold what is written into the object: a part of it, where it is copied.
                finding.pop("patch")
                assert TOKEN not in json.dumps(finding), finding["code"]
        else:
            assert TOKEN not in report, report[max(0, report.find(TOKEN) - 300) :][:400]


def test_a_diff_shows_no_token_of_the_lines_around(tmp_path: Path):
    pod = yaml_data(IDLE)
    container = pod["spec"]["containers"][0]
    container["terminationMessagePath"] = f"/log --token={TOKEN}"
    container["resources"]["requests"]["nvidia.com/gpu"] = 2
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(pod))
    shown = run(str(tmp_path), "--fix", "--diff")
    assert "--token=***" in shown
    assert TOKEN not in shown
    run(str(tmp_path), "--fix")
    assert TOKEN in (tmp_path / "pod.yaml").read_text(), "the file keeps it"


ODD = "x\u202e\u2066\u200by\x1b[31m\x9b"


@pytest.mark.parametrize("output_format", FORMATS)
def test_no_name_shows_something_else(
    output_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Marks of direction, characters without width, escape sequences: of objects and of files."""
    monkeypatch.chdir(tmp_path)
    pod = yaml_data(IDLE)
    pod["metadata"]["name"] = ODD
    pod["spec"]["containers"][0]["name"] = ODD
    Path("a\u202eb\x1b.yaml").write_text(json.dumps(pod))
    Path("c\u2066.yaml").write_text("a: *\u202enothing\n")
    report = run(".", "--format", output_format)
    shown = [c for c in report if unicodedata.category(c) in ("Cf", "Zl", "Zp")]
    assert shown == []
    assert "\x1b" not in report
    assert "\x9b" not in report
    if output_format == "json":
        names = {finding["file"] for finding in json.loads(report)["findings"]}
        assert names == {"a\u202eb\x1b.yaml"}, "programs get the real name"
    elif output_format == "junit":
        fromstring(report)
    elif output_format != "sarif":
        assert "a\\u202eb" in report
