from pathlib import Path

import pytest

from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.layout import SandboxLayout, locate


def test_an_explicit_folder_wins(tmp_path: Path) -> None:
    assert locate(Path("x"), {"GPUFLEET_SANDBOX": "/other"}, tmp_path).root == tmp_path / "x"


def test_the_environment_comes_before_the_project(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").touch()
    found = locate(None, {"GPUFLEET_SANDBOX": str(tmp_path / "mine")}, tmp_path)
    assert found.root == tmp_path / "mine"


def test_beside_the_nearest_project_upwards(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "deep" / "er"
    inner.mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "project" / "Pulumi.yaml").touch()
    assert locate(None, {}, inner).root == tmp_path / "project" / ".sandbox"


def test_here_when_there_is_no_project(tmp_path: Path) -> None:
    assert locate(None, {"GPUFLEET_SANDBOX": ""}, tmp_path).root == tmp_path / ".sandbox"


def test_claim_makes_a_private_folder(tmp_path: Path) -> None:
    layout = SandboxLayout(tmp_path / "a" / "b")
    layout.claim()
    assert layout.root.stat().st_mode & 0o777 == 0o700


def test_claim_refuses_a_persons_own_folder(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SandboxError, match="holds files and is not a sandbox"):
        SandboxLayout(tmp_path).claim()


def test_claim_accepts_a_sandbox_and_an_empty_folder(tmp_path: Path) -> None:
    layout = SandboxLayout(tmp_path)
    layout.claim()
    layout.lock.touch()
    (tmp_path / "logs").mkdir()
    layout.claim()
    assert layout.is_sandbox()


def test_claim_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="is not a folder"):
        SandboxLayout(tmp_path / "file").claim()


def test_reset_names_only_its_own_files(tmp_path: Path) -> None:
    layout = SandboxLayout(tmp_path)
    assert layout.lock not in layout.data
    assert all(path.parent == tmp_path for path in layout.data)
