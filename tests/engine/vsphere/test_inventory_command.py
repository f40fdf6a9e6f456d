"""`gpufleet vsphere inventory` against vcsim."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet.cli.vsphere import command
from tests.engine.vcenter_fixture import PASSWORD, PROFILE, Vcenter
from tests.engine.vsphere.direct import created


def asked(cloud: Vcenter, *more: str, cluster: str = "DC0_C0") -> Result:
    arguments = ["inventory", *more, "--server", "127.0.0.1", "--port", str(cloud.proxy.port)]
    arguments += ["--plain-http", "--datacenter", "DC0", "--cluster", cluster]
    return CliRunner().invoke(command, arguments)


def fleet(folder: Path, nodes: int) -> str:
    pool: dict[str, Any] = {
        "name": "train",
        "gpu": "A100-80GB",
        "nodes": {"min": nodes, "max": nodes},
        "vsphere": {"cpus": 8, "memoryGib": 64, "template": "gpu-template"},
    }
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "pools": [pool],
    }
    file = folder / "fleet.json"
    file.write_text(json.dumps(spec))
    return str(file)


def test_hosts_devices_profiles_and_pools(cloud: Vcenter, tmp_path: Path) -> None:
    created(cloud.node(1))
    cloud.proxy.reset()
    answer = asked(cloud, fleet(tmp_path, 11), "--format", "json")
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.output)
    assert [host["host"] for host in found["hosts"]] == [f"DC0_C0_H{number}" for number in range(3)]
    assert found["hosts"][0]["gpus"][0]["passthrough"] == "active"
    # One of the first host's four GPUs is the machine's, whole: it runs no vGPUs.
    assert [host["profiles"] for host in found["hosts"]] == [{PROFILE: n} for n in (24, 32, 32)]
    assert found["pools"][0]["fit"] == 11
    assert found["pools"][0]["running"] == 0
    assert cloud.proxy.changing == {}

    short = asked(cloud, fleet(tmp_path, 12))
    assert short.exit_code == 1
    assert "pool train: 11 of 12 machines fit" in short.output
    assert "12 machines need a place, 11 fit: DC0_C0_H0" in short.output


def test_machines_of_the_pool_itself_fit(cloud: Vcenter, tmp_path: Path) -> None:
    """A pool that runs needs no second place for what it has."""
    for number in range(2):
        created(cloud.node(number, name=f"lab-train-{number}"))
    full = json.loads(asked(cloud, fleet(tmp_path, 12), "--format", "json").output)["pools"][0]
    assert (full["fit"], full["running"], full["refusal"]) == (12, 2, "")
    text = asked(cloud, fleet(tmp_path, 13)).output
    assert "pool train: 12 of 13 machines fit, 2 of them exist" in text
    assert "11 machines need a place, 10 fit" in text


def test_what_vgpus_need_of_each_host(cloud: Vcenter, tmp_path: Path) -> None:
    """The simulator has an evaluation licence, and no manager of packages."""
    data = json.loads(Path(fleet(tmp_path, 1)).read_text())
    (pool,) = data["pools"]
    pool["sharing"] = {"vgpu": {"profile": "grid_a100d-3-40c", "licenseSecret": "nls"}}
    pool["vsphere"]["attachment"] = "vgpu"
    driver = {"repository": "r.example.com/n", "version": "580.95.05"}
    data["addons"] = {"gpuOperator": {"driver": driver, "imagePullSecret": "private"}}
    file = tmp_path / "vgpu.json"
    file.write_text(json.dumps(data))
    cloud.proxy.reset()
    answer = asked(cloud, str(file), "--format", "json")
    rows = json.loads(answer.output)["vgpu"]
    assert [row["host"] for row in rows] == [f"DC0_C0_H{number}" for number in range(3)]
    states = {one["check"]: one["state"] for one in rows[0]["checks"]}
    assert states["graphicsType"] == "ok"
    assert states["vgpuManager"] == "notKnown"
    assert states["migMode"] == "wrong"  # the hosts offer time-sliced types
    assert states["licence"] == "ok"
    assert cloud.proxy.changing == {}
    text = asked(cloud, str(file)).output
    assert "migMode wrong: A100D-3-40C is MIG-backed" in text
    assert "Evaluation" in text


def test_what_cannot_be_asked(cloud: Vcenter) -> None:
    problem = asked(cloud, cluster="DC0_C1").exception
    assert isinstance(problem, UnreadableInputError)
    assert "no cluster named 'DC0_C1' that this user can see; near: DC0_C0" in str(problem)
    assert PASSWORD not in str(problem)
