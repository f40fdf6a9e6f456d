"""Programs of `examples/` on vSphere that no engine test runs."""

from pathlib import Path
from typing import Any

import pulumi
import pytest

ROOT = Path(__file__).parents[3]


def test_slices_of_a_gpu_as_vgpus(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "server": "vcenter.example.com",
        "template": "ubuntu-24-gpu",
        "joinEndpoint": "https://10.0.0.10:9345",
        "driverRepository": "registry.example.com/nvidia",
    }
    monkeypatch.setattr(pulumi.Config, "get", lambda _, key: settings.get(key))
    monkeypatch.setattr(pulumi.Config, "require", lambda _, key: settings[key])
    monkeypatch.setattr(pulumi.Config, "require_secret", lambda _, key: pulumi.Output.secret(key))
    monkeypatch.setattr(pulumi, "export", lambda *_: None)
    example = ROOT / "examples" / "vsphere-gpu-modes/mig-backed-vgpu" / "__main__.py"
    recording = run(lambda: exec(example.read_text(), {}))
    groups = [one for one in recording.resources if one.type.endswith("vsphere:MachineGroup")]
    made = [node for one in groups for node in one.inputs["nodes"].values()]
    assert len(made) == 7
    assert {one["gpu"]["profile"] for one in made} == {"nvidia_a100d-1-10c"}
    assert recording.warnings == []
