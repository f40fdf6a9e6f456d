import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli import rendered_folder
from gpufleet.cli.output import UnreadableInputError
from gpufleet.cli.render import command
from gpufleet.cli.rendered_folder import INDEX

TWO_POOLS = """\
catalogue: "2026.11"
platform: eks
cluster: {name: ml, region: us-east-1}
provisioner: karpenter
pools:
  - {name: chat, gpu: L4, nodes: {min: 0, max: 4}, sharing: {timeSlicing: {replicas: 4}}}
  - {name: whole, gpu: L40S, nodes: {min: 0, max: 2}, provisioner: managed}
"""
ONE_POOL = "".join(line for line in TWO_POOLS.splitlines(True) if "chat" not in line)
IMPOSSIBLE = TWO_POOLS.replace("replicas: 4", "replicas: 999")
LEFTOVER = "manifests/karpenter/node-overlay-chat.yaml"


def run(spec: str, out: Path, *more: str) -> Result:
    arguments = ["-", "--out", str(out), *more]
    result = CliRunner().invoke(command, arguments, input=spec)
    if isinstance(result.exception, Exception):
        raise result.exception
    return result


def listing(spec: str, out: Path, *more: str) -> list[dict[str, Any]]:
    result = run(spec, out, "--format", "json", *more)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_listed_file_is_there_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "deploy" / "gpu"
    listed = listing(TWO_POOLS, out)
    assert sorted([entry["path"] for entry in listed] + [INDEX]) == list(contents(out))
    assert {entry["status"] for entry in listed} == {"new"}
    for entry in listed:
        assert entry["bytes"] == len((out / entry["path"]).read_bytes())
        assert entry["purpose"]
        assert entry["kind"] in {"manifest", "values", "config", "arguments", "snippet"}


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    run(TWO_POOLS, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert {entry["status"] for entry in listing(TWO_POOLS, tmp_path)} == {"unchanged"}
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()} == before


def test_two_folders_are_equal_to_the_byte(tmp_path: Path) -> None:
    run(TWO_POOLS, tmp_path / "a")
    run(ONE_POOL, tmp_path / "b")
    run(TWO_POOLS, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_file_no_longer_rendered_goes_and_its_empty_folders_too(tmp_path: Path) -> None:
    run(TWO_POOLS, tmp_path)
    assert (tmp_path / LEFTOVER).exists()
    listed = {entry["path"]: entry["status"] for entry in listing(ONE_POOL, tmp_path)}
    assert listed[LEFTOVER] == "removed"
    assert not (tmp_path / LEFTOVER).parent.exists()
    assert LEFTOVER not in (tmp_path / INDEX).read_text()


def test_files_of_others_are_never_touched(tmp_path: Path) -> None:
    run(TWO_POOLS, tmp_path)
    notes = tmp_path / "manifests" / "karpenter" / "notes.md"
    notes.write_text("mine")
    run(ONE_POOL, tmp_path)
    assert notes.read_text() == "mine"


def test_a_changed_leftover_stays_with_a_warning(tmp_path: Path) -> None:
    run(TWO_POOLS, tmp_path)
    (tmp_path / LEFTOVER).write_text("edited")
    result = run(ONE_POOL, tmp_path)
    assert result.exit_code == 0
    assert "render-leftover-changed" in result.stderr
    assert (tmp_path / LEFTOVER).read_text() == "edited"
    assert "render-leftover-changed" not in run(ONE_POOL, tmp_path).stderr


def test_a_foreign_file_in_the_way_stops_everything(tmp_path: Path) -> None:
    foreign = tmp_path / "pods" / "chat.yaml"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    result = run(TWO_POOLS, tmp_path)
    assert result.exit_code == 1
    assert "pods/chat.yaml: a file exists that no earlier run wrote" in result.stderr
    assert contents(tmp_path) == {"pods/chat.yaml": "mine"}


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_file_of_ours_is_not_replaced(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "out" / "pods" / "chat.yaml"
    place.parent.mkdir(parents=True)
    if kind == "link":
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.mkdir()
    result = run(TWO_POOLS, tmp_path / "out")
    assert result.exit_code == 1
    assert f"a {kind} exists at this path" in result.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_a_linked_folder_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "pods").symlink_to(tmp_path / "elsewhere")
    result = run(TWO_POOLS, tmp_path / "out")
    assert result.exit_code == 1
    assert "pods is a link or a file, not a folder" in result.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_edited_file_of_ours_is_rendered_again(tmp_path: Path) -> None:
    run(TWO_POOLS, tmp_path)
    good = (tmp_path / LEFTOVER).read_text()
    (tmp_path / LEFTOVER).write_text("edited")
    listed = {entry["path"]: entry["status"] for entry in listing(TWO_POOLS, tmp_path)}
    assert listed[LEFTOVER] == "changed"
    assert (tmp_path / LEFTOVER).read_text() == good


def test_an_error_writes_nothing(tmp_path: Path) -> None:
    run(TWO_POOLS, tmp_path)
    before = contents(tmp_path)
    result = run(IMPOSSIBLE, tmp_path, "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == []
    assert "replicas" in result.stderr
    assert contents(tmp_path) == before
    run(IMPOSSIBLE, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_dry_run_says_what_would_change(tmp_path: Path) -> None:
    out = tmp_path / "out"
    planned = listing(TWO_POOLS, out, "--dry-run")
    assert not out.exists()
    assert planned == listing(TWO_POOLS, out)
    before = contents(out)
    statuses = {e["path"]: e["status"] for e in listing(ONE_POOL, out, "--dry-run")}
    assert statuses[LEFTOVER] == "removed"
    assert contents(out) == before


def test_a_run_that_is_stopped_is_put_right_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(ONE_POOL, tmp_path)
    real, moved = Path.replace, []

    def stops(self: Path, target: Path) -> Path:
        if len(moved) == 4:
            raise KeyboardInterrupt
        moved.append(target)
        return real(self, target)

    monkeypatch.setattr(rendered_folder.Path, "replace", stops)
    with pytest.raises(KeyboardInterrupt):
        rendered_folder.apply_plan(_plan(TWO_POOLS, tmp_path))
    monkeypatch.undo()
    assert not list(tmp_path.glob(".gpufleet-*"))
    assert run(TWO_POOLS, tmp_path).exit_code == 0
    run(TWO_POOLS, tmp_path / "fresh")
    fresh = contents(tmp_path / "fresh")
    assert {k: v for k, v in contents(tmp_path).items() if not k.startswith("fresh/")} == fresh


def _plan(spec: str, out: Path) -> rendered_folder.FolderPlan:
    from gpufleet.platforms.compiled import compile_document
    from gpufleet.render.artefacts import artefacts

    fleet = compile_document(spec).fleet
    assert fleet is not None
    return rendered_folder.plan_folder(out, artefacts(fleet))


@pytest.mark.parametrize(
    "index",
    [
        "{",
        "[]",
        '{"format": 2, "files": []}',
        '{"format": 1, "files": {}}',
        '{"format": 1, "files": [{"path": "../escape", "sha256": "x"}]}',
        '{"format": 1, "files": [{"path": "/etc/passwd", "sha256": "x"}]}',
        '{"format": 1, "files": [{"path": "a//b", "sha256": "x"}]}',
        '{"format": 1, "files": [{"path": "", "sha256": "x"}]}',
        '{"format": 1, "files": [{"path": "a"}]}',
    ],
)
def test_a_spoilt_list_is_refused_and_nothing_removed(tmp_path: Path, index: str) -> None:
    (tmp_path / INDEX).write_text(index)
    with pytest.raises(UnreadableInputError, match="this version did not write the list"):
        run(TWO_POOLS, tmp_path)
    assert list(contents(tmp_path)) == [INDEX]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(UnreadableInputError, match="not a folder"):
        run(TWO_POOLS, tmp_path / "out")


def test_text_for_people(tmp_path: Path) -> None:
    result = run(TWO_POOLS, tmp_path)
    assert "new       values/gpu-operator.yaml  values of the chart gpu-operator" in result.stdout
    assert "removed   " + LEFTOVER in run(ONE_POOL, tmp_path).stdout


def test_the_folder_must_be_named() -> None:
    result = CliRunner().invoke(command, ["-"], input=TWO_POOLS)
    assert result.exit_code == 2
    assert "--out" in result.stderr
