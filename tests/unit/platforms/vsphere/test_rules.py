from typing import Any

import pytest
from pydantic import ValidationError

from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.platforms.vsphere import VsphereNics

MACHINE = {"cpus": 16, "memoryGib": 128, "template": "ubuntu-gpu"}
NAMED = {**MACHINE, "machines": [{"name": "a"}, {"name": "b"}]}
FIXED = {**MACHINE, "attachment": "passthrough", "pciAddresses": ["0000:3b:00.0"]}
VGPU = {**MACHINE, "attachment": "vgpu"}
ADDRESSED = {
    **MACHINE,
    "machines": [
        {"name": "a", "pciAddresses": ["0000:3b:00.0"]},
        {"name": "b", "pciAddresses": ["0000:5e:00.0"]},
    ],
}
OWN = {**ADDRESSED, "attachment": "passthrough"}
DISK = {"name": "scratch", "sizeGib": 10}
ADDRESSES = {"ranges": ["10.0.0.10-10.0.0.11"], "prefix": 24}


def _on(*networks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A machine with these adapters."""
    named = [{"network": f"n{number}", **one} for number, one in enumerate(networks)]
    return {**MACHINE, "networks": named, **more}


TAG = {"category": "environment", "name": "production"}
PROFILE = {"vgpu": {"profile": "grid_a100d-10c", "licenseSecret": "licence"}}


def findings(**pool: Any) -> dict[str, Finding]:
    data = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "pools": [
            {
                "name": "a",
                "gpu": "A100-80GB",
                "nodes": {"min": 2, "max": 2},
                "vsphere": MACHINE,
                **pool,
            }
        ],
    }
    return {found.code: found for found in compile_data(data).findings}


@pytest.mark.parametrize(
    ("code", "broken", "accepted"),
    [
        ("vgpu-attachment-and-sharing-disagree", {"vsphere": VGPU}, {"vsphere": MACHINE}),
        ("vgpu-attachment-and-sharing-disagree", {"sharing": PROFILE}, {"vsphere": FIXED}),
        (
            "vsphere-pci-addresses-count",
            {"vsphere": {**MACHINE, "attachment": "passthrough"}},
            {"vsphere": FIXED},
        ),
        ("vsphere-pci-addresses-count", {"vsphere": FIXED, "gpusPerNode": 2}, {"vsphere": FIXED}),
        (
            "vsphere-pci-addresses-unused",
            {"vsphere": {**MACHINE, "pciAddresses": ["0000:3b:00.0"]}},
            {"vsphere": FIXED},
        ),
        (
            "vsphere-dynamic-setting-unused",
            {"vsphere": {**FIXED, "hardwareLabel": "blue"}},
            {"vsphere": {**MACHINE, "hardwareLabel": "blue"}},
        ),
        (
            "vsphere-device-ids-unknown",
            {"gpu": "V100-32GB"},
            {"gpu": "V100-32GB", "vsphere": {**MACHINE, "deviceIds": ["1db5"]}},
        ),
        (
            "vsphere-exclude-unused",
            {"vsphere": {**NAMED, "exclude": [1]}},
            {"vsphere": {**MACHINE, "exclude": [1]}},
        ),
        (
            "vsphere-machines-count",
            {"vsphere": NAMED, "nodes": {"min": 3, "max": 3}},
            {"vsphere": NAMED},
        ),
        (
            "vsphere-machines-named-twice",
            {"vsphere": {**MACHINE, "machines": [{"name": "a"}, {"name": "a"}]}},
            {"vsphere": NAMED},
        ),
        ("vsphere-pci-addresses-unused", {"vsphere": ADDRESSED}, {"vsphere": OWN}),
        (
            "vsphere-pci-addresses-count",
            {"vsphere": OWN, "gpusPerNode": 2},
            {"vsphere": OWN},
        ),
        (
            "vsphere-cores-per-socket",
            {"vsphere": {**MACHINE, "coresPerSocket": 6}},
            {"vsphere": {**MACHINE, "coresPerSocket": 8}},
        ),
        (
            "vsphere-cores-per-numa-node",
            {"vsphere": {**MACHINE, "coresPerNumaNode": 6}},
            {"vsphere": {**MACHINE, "coresPerNumaNode": 8}},
        ),
        (
            "vsphere-hardware-version-too-low",
            {"vsphere": {**MACHINE, "coresPerNumaNode": 8, "hardwareVersion": 19}},
            {"vsphere": {**MACHINE, "coresPerNumaNode": 8, "hardwareVersion": 20}},
        ),
        (
            "vsphere-addresses-count",
            {"vsphere": _on({"addresses": {**ADDRESSES, "ranges": ["10.0.0.10"]}})},
            {"vsphere": _on({"addresses": ADDRESSES})},
        ),
        (
            "vsphere-addresses-count",
            {"vsphere": _on({"addresses": ADDRESSES}, exclude=[0])},
            {"vsphere": _on({}, {"addresses": ADDRESSES})},
        ),
        (
            "vsphere-machine-addresses-count",
            {"vsphere": {**NAMED, "networks": _on({"addresses": ADDRESSES})["networks"]}},
            {
                "vsphere": _on(
                    {"addresses": ADDRESSES},
                    machines=[
                        {"name": "a", "addresses": ["10.0.0.20"]},
                        {"name": "b", "addresses": ["10.0.0.21"]},
                    ],
                )
            },
        ),
        (
            "vsphere-address-twice",
            {
                "vsphere": _on(
                    {"addresses": ADDRESSES},
                    machines=[
                        {"name": "a", "addresses": ["10.0.0.20"]},
                        {"name": "b", "addresses": ["10.0.0.20"]},
                    ],
                )
            },
            {"vsphere": _on({"addresses": ADDRESSES}, {"addresses": ADDRESSES})},
        ),
        (
            "vsphere-cpu-reservation-unused",
            {"vsphere": {**MACHINE, "cpuReservationMhz": 1, "latencySensitivity": "high"}},
            {"vsphere": {**MACHINE, "cpuReservationMhz": 1}},
        ),
        (
            "vsphere-board-and-device-ids",
            {"vsphere": {**MACHINE, "board": "sxm", "deviceIds": ["20b2"]}},
            {"vsphere": {**MACHINE, "board": "sxm"}},
        ),
        (
            "vsphere-device-ids-unknown",
            {"vsphere": {**MACHINE, "board": "nvl"}},
            {"vsphere": {**MACHINE, "board": "pcie"}},
        ),
        (
            "vsphere-dynamic-setting-unused",
            {"vsphere": {**FIXED, "board": "sxm"}},
            {"vsphere": {**MACHINE, "board": "sxm"}},
        ),
        (
            "vsphere-hardware-version-too-low",
            {"vsphere": {**MACHINE, "hardwareVersion": 15}},
            {"vsphere": {**FIXED, "hardwareVersion": 15}},
        ),
        (
            "vsphere-guest-not-linux",
            {"vsphere": {**MACHINE, "guestId": "windows2022srvNext_64Guest"}},
            {"vsphere": {**MACHINE, "guestId": "ubuntu64Guest"}},
        ),
        (
            "vsphere-tags-twice",
            {"vsphere": {**MACHINE, "tags": [TAG, TAG]}},
            {"vsphere": {**MACHINE, "tags": [TAG, {**TAG, "name": "trial"}]}},
        ),
        (
            "vsphere-datastore-and-cluster",
            {"vsphere": {**MACHINE, "datastore": "a", "datastoreCluster": "pod"}},
            {"vsphere": {**MACHINE, "datastoreCluster": "pod"}},
        ),
        (
            "vsphere-disks-named-twice",
            {"vsphere": {**MACHINE, "extraDisks": [DISK, DISK]}},
            {"vsphere": {**MACHINE, "extraDisks": [DISK, {**DISK, "name": "b"}]}},
        ),
        (
            "vsphere-kept-disk-stopped-hard",
            {
                "vsphere": {
                    **MACHINE,
                    "extraDisks": [{**DISK, "keep": True}],
                    "deletePolicy": "hard",
                }
            },
            {"vsphere": {**MACHINE, "extraDisks": [{**DISK, "keep": True}]}},
        ),
        (
            "vsphere-extra-config-taken",
            {"vsphere": {**MACHINE, "extraConfig": {"PCIPassthru.64bitMMIOSizeGB": "64"}}},
            {"vsphere": {**MACHINE, "extraConfig": {"disk.EnableUUID": "TRUE"}}},
        ),
        (
            "vsphere-host-allowed-and-denied",
            {"vsphere": {**MACHINE, "hosts": ["a", "b"], "denyHosts": ["b"]}},
            {"vsphere": {**MACHINE, "hosts": ["a"], "denyHosts": ["b"]}},
        ),
        (
            "vsphere-nodes-not-fixed",
            {"nodes": {"min": 1, "max": 3}},
            {"nodes": {"min": 3, "max": 3}},
        ),
    ],
)
def test_rules(code: str, broken: dict[str, Any], accepted: dict[str, Any]) -> None:
    assert code not in findings(**accepted)
    found = findings(**broken)[code]
    assert found.path.startswith("pools[0].")
    assert found.fix


FUNCTION = {"network": "rdma", "adapter": "sriov"}


def nics(given: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"fabric": "rdma", "vsphere": {**MACHINE, "nics": given, **options}}


@pytest.mark.parametrize(
    ("code", "broken", "accepted"),
    [
        (
            "vsphere-rdma-nic-of-template",
            {"fabric": "rdma", "vsphere": MACHINE},
            {"fabric": "rdma", "vsphere": {**MACHINE, "networks": [FUNCTION]}},
        ),
        ("vsphere-rdma-nic-of-template", {"fabric": "rdma", "vsphere": _on({})}, {}),
        ("vsphere-rdma-nic-of-template", {"fabric": "rdma"}, nics({"deviceIds": ["1021"]})),
        (
            "vsphere-hardware-version-too-low",
            nics({"deviceIds": ["1021"]}, hardwareVersion=16, attachment="vgpu"),
            nics({"pciAddresses": ["0000:af:00.0"]}, hardwareVersion=16, attachment="vgpu"),
        ),
        (
            "vsphere-pci-address-twice",
            nics({"pciAddresses": ["0000:AF:00.0"]}, pciAddresses=["0000:af:00.0"]),
            nics({"pciAddresses": ["0000:AF:00.1"]}, pciAddresses=["0000:af:00.0"]),
        ),
        (
            "vsphere-sriov-hardware",
            {"vsphere": {**MACHINE, "networks": [FUNCTION], "hardwareVersion": 9}},
            {"vsphere": {**MACHINE, "networks": [FUNCTION], "hardwareVersion": 20}},
        ),
    ],
)
def test_rdma_needs_a_nic(code: str, broken: dict[str, Any], accepted: dict[str, Any]) -> None:
    assert code not in findings(**accepted)
    found = findings(**broken)[code]
    assert found.path.startswith("pools[0].vsphere.")
    assert found.fix


def test_texts() -> None:
    found = findings(vsphere=FIXED, gpusPerNode=4)["vsphere-pci-addresses-count"]
    assert found.path == "pools[0].vsphere.pciAddresses"
    wanted = "the number of addresses is 1, and that of the GPUs of a machine 4"
    assert found.message == wanted
    assert found.fix == "write an address for each GPU, or `attachment: dynamicDirectPath`"


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"ranges": ["10.0.0.10-10.0.1.10"]}, "10.0.1.10 is not in 10.0.0.0/24"),
        ({"ranges": ["10.0.0.20-10.0.0.10"]}, "write 10.0.0.10-10.0.0.20"),
        ({"ranges": ["10.0.0.10", "10.0.0.9-10.0.0.11"]}, "10.0.0.10/24 is listed more than once"),
        ({"gateway": "10.0.1.1"}, "gateway 10.0.1.1 is not in 10.0.0.0/24"),
        ({"prefix": 33}, "33"),
        ({"nameservers": ["10.0.0"]}, "'10.0.0' does not appear to be an IPv4 or IPv6 address"),
        ({"ranges": ["fd00::1-fd00::ffff:ffff"], "prefix": 64}, "more than 65536"),
    ],
)
def test_addresses_that_cannot_work(wrong: dict[str, Any], expected: str) -> None:
    found = findings(vsphere=_on({"addresses": {**ADDRESSES, **wrong}}))
    assert any(expected in one.message for one in found.values()), found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "write deviceIds or pciAddresses"),
        ({"deviceIds": ["1021"], "pciAddresses": ["0000:af:00.0"]}, "one of them"),
        ({"pciAddresses": ["0000:af:00.0"], "count": 2}, "hardwareLabel and count"),
        ({"deviceIds": ["cx7"]}, "deviceIds"),
    ],
)
def test_nics_are_named_in_one_way(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError) as wrong:
        VsphereNics.model_validate(given)
    assert expected in str(wrong.value)
