"""What `VsphereGpuNodeGroup` asks the engine for."""

from typing import Any

import pytest

from gpufleet import GpuFleet, VsphereGpuNodeGroup
from gpufleet.inputs import InvalidArgumentsError

NODE = "pulumi-python:gpufleet:VsphereGpuNode"
TOKEN = "token-0123456789"
POOL = {
    "name": "train",
    "gpu": "A100-80GB",
    "nodes": {"min": 3, "max": 3},
    "vsphere": {"cpus": 8, "memoryGib": 64, "template": "gpu-template"},
}


def arguments(pool: dict[str, Any] | None = None, **connection: Any) -> Any:
    return {
        "catalogue": "2026.11",
        "pool": {
            "name": "train",
            "gpu": "A100-80GB",
            "nodes": {"min": 3, "max": 3},
            "vsphere": {"cpus": 8, "memory_gib": 64, "template": "gpu-template"},
            **(pool or {}),
        },
        "connection": {
            "server": "vcenter.example.com",
            "datacenter": "DC1",
            "compute_cluster": "gpu",
            **connection,
        },
    }


def nodes(run: Any, given: Any) -> list[Any]:
    recording = run(lambda: VsphereGpuNodeGroup("pool", given))
    return [item for item in recording.resources if item.type.endswith("VsphereGpuNode")]


def refused(run: Any, given: Any) -> str:
    texts: list[str] = []

    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            VsphereGpuNodeGroup("pool", given)
        texts.append(str(caught.value))

    assert run(program).resources == []
    return texts[0]


def test_a_machine_for_each_node_with_a_stable_name(run: Any) -> None:
    made = nodes(run, arguments())
    assert [item.inputs["name"] for item in made] == ["gpu-train-0", "gpu-train-1", "gpu-train-2"]
    assert [item.inputs["owner"].split("/", 1)[1] for item in made] == [
        f"project/stack/pool/{ordinal}" for ordinal in range(3)
    ]
    first = made[0].inputs
    assert first["memoryMib"] == 65_536
    assert "20b5" in first["gpu"]["deviceIds"]
    assert "userData" not in first


def test_lanes_as_wide_as_the_rollout(run: Any) -> None:
    narrow = {"vsphere": {"cpus": 8, "memory_gib": 64, "template": "t", "rollout_width": 2}}
    made = nodes(run, arguments(narrow))
    assert [item.depends_on for item in made] == [[], [], ["pool-0"]]


def test_one_generation_for_the_same_machine_and_another_for_another_template(run: Any) -> None:
    before = nodes(run, arguments())[0].inputs["generation"]
    assert nodes(run, arguments())[0].inputs["generation"] == before
    other = {"vsphere": {"cpus": 8, "memory_gib": 64, "template": "newer"}}
    assert nodes(run, arguments(other))[0].inputs["generation"] != before
    larger = {"vsphere": {"cpus": 16, "memory_gib": 64, "template": "gpu-template"}}
    assert nodes(run, arguments(larger))[0].inputs["generation"] == before


def test_the_first_boot_data_is_a_secret(run: Any) -> None:
    join = {"method": "rke2", "endpoint": "https://10.0.0.10:9345", "token": TOKEN}
    made = nodes(run, arguments(join=join))[0].inputs
    signature = made["userData"]["4dabf18193072939515e22adb298388d"]
    assert signature == "1b47061264138c4ac30d75fd1eb44270", "marked as a secret"
    assert TOKEN in made["userData"]["value"]
    assert TOKEN not in str({key: value for key, value in made.items() if key != "userData"})


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        (
            {
                "join": {"method": "rke2", "endpoint": "https://h:9345", "token": TOKEN},
                "user_data": "#cloud-config\n",
            },
            "join writes the first-boot data, and userData is that data",
        ),
        (
            {"join": {"method": "talos", "endpoint": "h", "token": TOKEN}},
            "'talos' is none of kubeadm, rke2, k3s",
        ),
        (
            {"join": {"method": "kubeadm", "endpoint": "h:6443", "token": TOKEN}},
            "kubeadm needs the hash of the cluster's authority",
        ),
    ],
)
def test_what_is_refused(run: Any, connection: dict[str, Any], expected: str) -> None:
    text = refused(run, arguments(**connection))
    assert expected in text
    assert TOKEN not in text


def test_a_name_that_is_too_long_is_refused(run: Any) -> None:
    given = {**arguments(), "name_prefix": "p" * 60}
    assert "shorten namePrefix or the pool's name by" in refused(run, given)


def test_a_fleet_makes_the_group_of_each_pool(run: Any) -> None:
    given = arguments()
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "pools": [POOL],
    }
    connection = {"vsphere": given["connection"]}

    def program() -> None:
        GpuFleet("fleet", {"spec": spec, "connection": connection})

    made = run(program)
    group = made.one("gpufleet:index:VsphereGpuNodeGroup")
    assert group.parent == "fleet"
    machines = [item for item in made.resources if item.type.endswith("VsphereGpuNode")]
    assert [item.inputs["name"] for item in machines] == [f"lab-train-{n}" for n in range(3)]


def test_a_fleet_without_a_vcenter_is_refused(run: Any) -> None:
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "pools": [POOL],
    }

    def program() -> None:
        with pytest.raises(InvalidArgumentsError, match="pools on vSphere need a vCenter"):
            GpuFleet("fleet", {"spec": spec})

    assert run(program).resources == []


def test_a_vgpu_pool_says_where_its_guest_driver_comes_from(run: Any) -> None:
    shared = {
        "sharing": {"vgpu": {"profile": "grid_a100d-10c"}},
        "vsphere": {"cpus": 8, "memory_gib": 64, "template": "t", "attachment": "vgpu"},
    }
    assert "vgpu-guest-driver-missing" in refused(run, arguments(shared))
    operator = {
        "driver": {"repository": "registry.example.com/nvidia", "version": "580.95.05"},
        "imagePullSecret": "private",
    }
    made = nodes(run, {**arguments(shared), "addons": {"gpuOperator": operator}})
    assert made[0].inputs["gpu"] == {"mode": "vgpu", "profile": "grid_a100d-10c", "count": 1}
