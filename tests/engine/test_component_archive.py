"""The component package of a release: the engine installs its archive and adds it to a project."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet_sandbox.layout import SandboxLayout
from release.sdks import write_plugin
from tests.wheel.environments import build

ROOT = Path(__file__).parents[2]
PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-language-yaml")


def test_a_package_is_added_from_its_archive(
    project: Callable[..., Any], engine_layout: SandboxLayout, tmp_path: Path
) -> None:
    if not (engine_layout.bin / "pulumi-language-yaml").exists():
        pytest.skip("pulumi-language-yaml is not made yet; run `gpufleet sandbox programs`")
    made = project({"Pulumi.yaml": "name: added\nruntime: yaml\n"}, name="added", runtime="yaml")
    dist, programs = tmp_path / "dist", tmp_path / "programs"
    write_plugin(build(ROOT, dist), "0.1.0", {"publisher": "tests"}, dist)
    # A plugin on PATH goes before an installed one: the sandbox's own is left out.
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(engine_layout.bin / name)
    made.engine.env.update(PATH=f"{programs}:/usr/bin:/bin", PULUMI_HOME=str(tmp_path / "home"))

    archive = dist / "pulumi-resource-gpufleet-v0.1.0-linux-amd64.tar.gz"
    install = ["plugin", "install", "resource", "gpufleet", "0.1.0", "--file", str(archive)]
    made.engine.call(install).checked()
    made.engine.call(["package", "add", "gpufleet@0.1.0"]).checked()
    described = yaml.safe_load((made.folder / "Pulumi.yaml").read_text())
    assert described["packages"] == {"gpufleet": "gpufleet@0.1.0"}

    answer = made.engine.call(["package", "get-schema", "gpufleet@0.1.0"])
    assert answer.status == 0, answer.output
    schema = json.loads(answer.output[answer.output.index("{\n") :])
    assert "gpufleet:index:GpuFleet" in schema["resources"]
    assert schema["publisher"] == "tests", "the archive's addresses are in its schema"
