"""Registrations of `VsphereGpuNodeGroup` in the engine."""

from dataclasses import dataclass
from typing import Any

import pytest

from gpufleet import GpuFleet, VsphereGpuNodeGroup
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet_vcenter.group_plan import generation_of
from gpufleet_vcenter.outputs import declared
from gpufleet_vcenter.settings import NodeSettings, normalised

TOKEN = "token-0123456789"
RKE2 = {"method": "rke2", "endpoint": "https://10.0.0.10:9345", "token": TOKEN}
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
            **POOL,
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


@dataclass(frozen=True)
class Made:
    """One machine of the group."""

    key: str
    inputs: dict[str, Any]


def group_of(recording: Any) -> dict[str, Any]:
    (found,) = [item for item in recording.resources if item.type.endswith("vsphere:MachineGroup")]
    return found.inputs


def machines_of(recording: Any) -> list[Made]:
    """Inputs of each machine with its secrets, and the digest that the provider adds."""
    found = group_of(recording)
    boot = found["boot"]["value"]
    made = [(key, {**found["nodes"][key], **boot.get(key, {})}) for key in found["order"]]
    return [Made(key, {**one, "generation": generation_of(normalised(one))}) for key, one in made]


def nodes(run: Any, given: Any) -> list[Made]:
    return machines_of(run(lambda: VsphereGpuNodeGroup("pool", given)))


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


def test_hardware_and_what_people_read_of_a_machine(run: Any) -> None:
    tag = {"category": "environment", "name": "production"}
    more = {
        "cores_per_socket": 4,
        "hardware_version": 21,
        "guest_id": "ubuntu64Guest",
        "annotation": "of the ML team",
        "custom_attributes": {"cost centre": "4711"},
        "tags": [{**tag, "name": "trial"}, tag],
    }
    shape = {"cpus": 8, "memory_gib": 64, "template": "t", **more}
    network = {"network": {"version": 2}}
    given = arguments({"vsphere": shape}, network_adapter="vmxnet3", meta_data=network)
    first = nodes(run, given)[0].inputs
    assert (first["coresPerSocket"], first["hardwareVersion"]) == (4, 21)
    assert (first["guestId"], first["annotation"]) == ("ubuntu64Guest", "of the ML team")
    assert first["customAttributes"] == {"cost centre": "4711"}
    assert first["tags"] == [tag, {**tag, "name": "trial"}], "in one order, however it is written"
    assert first["place"]["adapter"] == "vmxnet3"
    assert first["metaData"] == network

    plain = nodes(run, arguments())[0].inputs
    assert not {"coresPerSocket", "hardwareVersion", "guestId", "annotation"} & plain.keys()
    assert not {"customAttributes", "tags", "metaData"} & plain.keys()
    assert first["generation"] != plain["generation"], "another first boot"


def test_devices_storage_and_ways_of_going_about(run: Any) -> None:
    disk = {"name": "scratch", "size_gib": 500, "datastore": "fast", "keep": True}
    adapters = [{"network": "machines"}, {"network": "storage", "adapter": "vmxnet3"}]
    more = {
        "extra_disks": [disk],
        "networks": adapters,
        "datastore_cluster": "pod",
        "drs_behavior": "partiallyAutomated",
        "deny_hosts": ["esx9"],
        "latency_sensitivity": "high",
        "extra_config": {"disk.EnableUUID": "TRUE"},
        "ignore_user_data_changes": True,
        "on_create_failure": "keep",
        "delete_policy": "hard",
        "timeouts": {"clone": 3600},
    }
    shape = {"cpus": 8, "memory_gib": 64, "template": "t", **more}
    given = arguments({"vsphere": shape}, network="else", network_adapter="e1000e")
    first = nodes(run, given)[0].inputs
    assert first["extraDisks"] == [
        {"name": "scratch", "sizeGib": 500, "datastore": "fast", "keep": True}
    ]
    assert first["place"]["networks"] == adapters, "in place of the connection's"
    assert not {"network", "adapter", "datastore"} & first["place"].keys()
    assert first["place"]["datastoreCluster"] == "pod"
    assert first["place"]["denyHosts"] == ["esx9"]
    assert (first["drsBehavior"], first["latencySensitivity"]) == ("partiallyAutomated", "high")
    assert (first["onCreateFailure"], first["deletePolicy"]) == ("keep", "hard")
    assert first["timeouts"] == {"clone": 3600}
    assert first["extraConfig"] == {"disk.EnableUUID": "TRUE"}
    assert first["ignoreUserDataChanges"] is True
    settings = NodeSettings.model_validate(declared(first))
    assert (settings.timeouts.clone, settings.timeouts.destroy) == (3600, 600)

    plain = nodes(run, arguments(network="else"))[0].inputs
    assert plain["place"]["network"] == "else"
    assert not plain.keys() & {"extraDisks", "timeouts", "drsBehavior", "onCreateFailure"}


def test_vendor_data_is_a_secret_and_part_of_what_a_machine_is(run: Any) -> None:
    given = nodes(run, arguments(vendor_data=TOKEN))[0].inputs
    assert TOKEN not in str({k: v for k, v in given.items() if k != "vendorData"})
    assert given["vendorData"] == TOKEN, "in the secret part"
    assert given["generation"] != nodes(run, arguments())[0].inputs["generation"]
    ignition = arguments(vendor_data=TOKEN, user_data_format="ignition")
    assert "vsphere-vendor-data-unread" in refused(run, ignition)


def test_how_many_at_a_time_and_which_first(run: Any) -> None:
    shape = {"cpus": 8, "memory_gib": 64, "template": "t", "rollout_width": 2, "creation_width": 3}
    made = group_of(run(lambda: VsphereGpuNodeGroup("pool", arguments({"vsphere": shape}))))
    assert (made["rolloutWidth"], made["width"]) == (2, 3)
    assert made["order"] == ["0", "1", "2"]
    assert made["names"] == "gpu-train-"
    assert made["after"] == {}, "no wave waits for another"


def test_a_machine_from_the_middle_goes_and_none_is_renumbered(run: Any) -> None:
    shape = {"cpus": 8, "memory_gib": 64, "template": "t"}
    fewer = {"nodes": {"min": 2, "max": 2}, "vsphere": {**shape, "exclude": [1]}}
    assert owners(nodes(run, arguments(fewer))) == ["0", "2"]
    as_many = {"vsphere": {**shape, "exclude": [1]}}
    made = nodes(run, arguments(as_many))
    assert owners(made) == ["0", "2", "3"]
    assert [item.key for item in made] == ["0", "2", "3"]


def test_machines_by_name_each_with_its_own_host_and_device(run: Any) -> None:
    named = [
        {"name": "a", "hosts": ["esx1"], "pci_addresses": ["0000:3B:00.0"]},
        {"name": "b", "hosts": ["esx2"], "pci_addresses": ["0000:5e:00.0"]},
    ]
    shape = {"cpus": 8, "memory_gib": 64, "template": "t", "attachment": "passthrough"}
    pool = {"nodes": {"min": 2, "max": 2}, "vsphere": {**shape, "machines": named}}
    made = nodes(run, arguments(pool))
    assert owners(made) == ["a", "b"]
    assert [item.inputs["name"] for item in made] == ["gpu-train-a", "gpu-train-b"]
    assert [item.inputs["place"]["hosts"] for item in made] == [["esx1"], ["esx2"]]
    assert [item.inputs["gpu"]["pciAddresses"] for item in made] == [
        ["0000:3b:00.0"],
        ["0000:5e:00.0"],
    ]


def owners(made: list[Any]) -> list[str]:
    return [item.inputs["owner"].rsplit("/", 1)[1] for item in made]


def test_the_group_has_no_secret_in_plain(run: Any) -> None:
    found = group_of(run(lambda: VsphereGpuNodeGroup("pool", arguments(join=RKE2))))
    signature = found["boot"]["4dabf18193072939515e22adb298388d"]
    assert signature == "1b47061264138c4ac30d75fd1eb44270", "marked as a secret"
    assert TOKEN in str(found["boot"])
    assert TOKEN not in str({key: value for key, value in found.items() if key != "boot"})


def test_labels_change_wave_by_wave(run: Any) -> None:
    def layout(name: str) -> dict[str, Any]:
        return {"mig": {"layouts": [{"devices": {name: 7 if name.startswith("1g") else 2}}]}}

    def generations(**change: Any) -> list[str]:
        made = nodes(run, arguments({"sharing": layout("3g.40gb"), **change}, join=RKE2))
        return [item.inputs["generation"] for item in made]

    old = nodes(run, arguments({"sharing": layout("1g.10gb")}, join=RKE2))
    before = [item.inputs["generation"] for item in old]
    previous = {"previous": layout("1g.10gb"), "width": 1}
    assert generations(change={**previous, "waves": 0}) == before
    first = generations(change={**previous, "waves": 1})
    assert [new == was for new, was in zip(first, before, strict=True)] == [False, True, True]
    assert generations(change={**previous, "waves": 3}) == generations()


def test_one_generation_for_the_same_machine_and_another_for_another_template(run: Any) -> None:
    before = nodes(run, arguments())[0].inputs["generation"]
    assert nodes(run, arguments())[0].inputs["generation"] == before
    other = {"vsphere": {"cpus": 8, "memory_gib": 64, "template": "newer"}}
    assert nodes(run, arguments(other))[0].inputs["generation"] != before
    larger = {"vsphere": {"cpus": 16, "memory_gib": 64, "template": "gpu-template"}}
    assert nodes(run, arguments(larger))[0].inputs["generation"] == before


def test_each_number_has_its_address(run: Any) -> None:
    addresses = {"ranges": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
    networks = [{"network": "a"}, {"network": "b", "addresses": addresses}]
    shape = {"cpus": 8, "memory_gib": 64, "template": "t", "networks": networks, "exclude": [1]}
    made = nodes(run, arguments({"vsphere": shape}))
    assert [item.inputs["addresses"] for item in made] == [
        [{"adapter": 1, "address": f"10.0.0.{10 + number}/24", "gateway": "10.0.0.1"}]
        for number in (0, 2, 3)
    ]
    assert made[0].inputs["place"]["networks"] == [{"network": "a"}, {"network": "b"}]
    without = {**shape, "networks": [{"network": "a"}, {"network": "b"}]}
    plain = nodes(run, arguments({"vsphere": without}))[0].inputs
    assert made[0].inputs["generation"] != plain["generation"]
    text = refused(run, arguments({"vsphere": shape}, meta_data={"network": {}}))
    assert "network follows from the machine" in text


def test_arguments_of_the_kubelet_are_written_and_make_another_machine(run: Any) -> None:
    """Formats: kubeadm v1beta4 `kubeletExtraArgs`, RKE2 and k3s `kubelet-arg` (their agents'
    configuration files, read 2026-11-23)."""
    given = {"kubelet_arguments": {"cloud-provider": "external", "v": "2"}}

    def first(**join: Any) -> Any:
        return nodes(run, arguments(join={**RKE2, **join}))[0].inputs

    plain, told = first(), first(**given)
    assert "kubelet-arg" not in plain["userData"]
    for line in ("kubelet-arg:", '- "cloud-provider=external"', '- "v=2"'):
        assert line in told["userData"]
    assert plain["bootSha256"] == first(token="another")["bootSha256"] != told["bootSha256"]
    kubeadm = {"method": "kubeadm", "endpoint": "h:6443", "ca_cert_hashes": ["sha256:" + "0" * 64]}
    assert "name: cloud-provider" in first(**kubeadm, **given)["userData"]


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
            "'talos' is not one of kubeadm, rke2, k3s",
        ),
        (
            {"join": {"method": "kubeadm", "endpoint": "h:6443", "token": TOKEN}},
            "kubeadm needs the hash of the cluster's authority",
        ),
        (
            {"join": {**RKE2, "kubelet_arguments": {"node-labels": "a=b"}}},
            "gpufleet derives node-labels from the pool",
        ),
        (
            {"join": {**RKE2, "kubelet_arguments": {"--v": "2"}}},
            "--v begins with a hyphen",
        ),
        (
            {
                "join": {
                    "method": "openshift",
                    "endpoint": "https://h:22623/config/worker",
                    "kubelet_arguments": {"v": "2"},
                }
            },
            "OpenShift configures the kubelet of its nodes",
        ),
        ({"preflight": "never"}, "'never' is not one of preview, create"),
        ({"network_adapter": "e1000"}, "'e1000' is not one of vmxnet3, e1000e"),
        ({"meta_data": {"redact": []}}, "redact follows from the machine"),
        (
            {"meta_data": {"network": {}}, "user_data_format": "ignition"},
            "only cloud-init reads meta data, and the first-boot data is Ignition",
        ),
        (
            {"kubernetes": {"kubeconfig": "apiVersion: v1\nkind: Config\n"}},
            "kubeconfig is the path of a file, and this is the content of one",
        ),
        (
            {"kubernetes": {"kubeconfig": "~/.kube/config", "when_not_drained": "hope"}},
            "Input should be 'refuse' or 'remove'",
        ),
    ],
)
def test_what_is_refused(run: Any, connection: dict[str, Any], expected: str) -> None:
    text = refused(run, arguments(**connection))
    assert expected in text
    assert TOKEN not in text


def test_waiting_for_a_join_that_nobody_announces_is_refused(run: Any) -> None:
    waits = {"vsphere": {"cpus": 8, "memory_gib": 64, "template": "t", "wait_for": "joined"}}
    text = refused(run, arguments(waits))
    assert "only first-boot data that gpufleet writes says when it has joined" in text


def test_replacing_nodes_without_a_cluster_is_refused(run: Any) -> None:
    shape = {"cpus": 8, "memory_gib": 64, "template": "t", "replace_not_ready_minutes": 30}
    lost = {"vsphere": shape}
    assert "only the cluster says whether a node is Ready" in refused(run, arguments(lost))


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
    connection: Any = {"vsphere": given["connection"]}

    def program() -> None:
        GpuFleet("fleet", {"spec": spec, "connection": connection})

    made = run(program)
    group = made.one("gpufleet:index:VsphereGpuNodeGroup")
    assert group.parent == "fleet"
    assert [item.inputs["name"] for item in machines_of(made)] == [
        f"lab-train-{n}" for n in range(3)
    ]


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
