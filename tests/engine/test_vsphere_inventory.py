"""`gpufleet vsphere inventory` against vcsim."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet.cli.vsphere import command
from gpufleet.nodes.vsphere.session import close_all
from tests.engine.vcenter_fixture import PASSWORD, PROFILE, USER, Vcenter, inventory, simulated


@pytest.fixture(scope="module")
def cloud() -> Iterator[Vcenter]:
    with simulated(inventory(hosts=2)) as found:
        yield found


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("VSPHERE_USER", USER)
    monkeypatch.setenv("VSPHERE_PASSWORD", PASSWORD)
    yield
    close_all()


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
    made = cloud.worker.run("create", news=cloud.node(1))["result"]
    cloud.proxy.reset()
    answer = asked(cloud, fleet(tmp_path, 3), "--format", "json")
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.output)
    assert [host["host"] for host in found["hosts"]] == ["DC0_C0_H0", "DC0_C0_H1"]
    assert found["hosts"][0]["gpus"][0]["passthrough"] == "active"
    assert found["hosts"][0]["profiles"] == {PROFILE: 16}
    assert found["pools"][0]["fit"] == 3
    assert cloud.proxy.changing == {}

    short = asked(cloud, fleet(tmp_path, 4))
    assert short.exit_code == 1
    assert "pool train: 3 of 4 machines fit" in short.output
    assert "4 machines need a place, 3 fit: DC0_C0_H0" in short.output
    cloud.worker.run("delete", id=made["id"], olds=made["outs"])


def test_what_cannot_be_asked(cloud: Vcenter) -> None:
    problem = asked(cloud, cluster="DC0_C1").exception
    assert isinstance(problem, UnreadableInputError)
    assert "no cluster named 'DC0_C1' that this user can see; near: DC0_C0" in str(problem)
    assert PASSWORD not in str(problem)
