"""Patches are merged into the object that they change, and then the object is validated: each kind.

A patch alone is a part: its missing fields prove nothing, in any reader.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet_policies.commands.audit import command as audit
from gpufleet_policies.commands.check import command as check
from tests.reading import read_yaml

ROWS: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("patched_kinds.yaml"))
KINDS = [pytest.param(row, id=row["object"]["kind"]) for row in ROWS]
CHANGED = "patches: [{path: patch.yaml}]\n"


def write(folder: Path, row: dict[str, Any], patch: str) -> None:
    base, overlay = folder / "base", folder / "overlay"
    base.mkdir()
    overlay.mkdir()
    (base / "object.yaml").write_text(yaml.safe_dump(row["object"]))
    (base / "kustomization.yaml").write_text("resources: [object.yaml]\n")
    part = {key: row["object"][key] for key in ("apiVersion", "kind", "metadata")}
    (overlay / "patch.yaml").write_text(yaml.safe_dump({**part, "spec": row[patch]}))
    (overlay / "kustomization.yaml").write_text(f"resources: [../base]\n{CHANGED}")


def run(command: Any, path: Path) -> Result:
    return CliRunner().invoke(command, ["--config", "/dev/null", str(path)])


@pytest.mark.parametrize("row", KINDS)
def test_a_patch_is_no_object_that_lacks_fields(tmp_path: Path, row: dict[str, Any]) -> None:
    write(tmp_path, row, "patch")
    assert run(check, tmp_path / "base" / "object.yaml").exit_code == 0
    whole = run(audit, tmp_path)
    assert whole.exit_code == 0, whole.output
    alone = run(check, tmp_path / "overlay" / "patch.yaml")
    assert "error " not in alone.output, alone.output


@pytest.mark.parametrize("row", KINDS)
def test_what_a_patch_makes_of_its_object_is_asked(tmp_path: Path, row: dict[str, Any]) -> None:
    write(tmp_path, row, "wrong")
    found = run(audit, tmp_path)
    assert found.exit_code == 1, found.output
    assert row["object"]["kind"] in found.output


def test_a_file_is_a_patch_by_a_kustomization_above_it_too(tmp_path: Path) -> None:
    row = next(one for one in ROWS if one["object"]["kind"] == "EC2NodeClass")
    write(tmp_path, row, "patch")
    overlay = tmp_path / "overlay"
    (overlay / "patches").mkdir()
    (overlay / "patch.yaml").rename(overlay / "patches" / "class.yaml")
    path = overlay / "kustomization.yaml"
    path.write_text(path.read_text().replace("patch.yaml", "patches/class.yaml"))
    assert "error " not in run(check, overlay / "patches" / "class.yaml").output
    path.unlink()
    assert run(check, overlay / "patches" / "class.yaml").exit_code == 1
