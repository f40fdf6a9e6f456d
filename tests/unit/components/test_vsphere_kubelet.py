"""Managers of the kubelet on vSphere: arguments that `join` writes, and joins that cannot."""

import re
from typing import Any

import pytest

from gpufleet import VsphereGpuNodeGroup
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.unit.components.test_vsphere_group import RKE2, TOKEN, arguments, nodes

ALIGNED = {"cpu_manager": "static", "topology_manager": "restricted", "reserved_cpus": 2}
ALL_ALIGNED = {**ALIGNED, "memory_manager": "static", "reserved_memory_mib": 2148}
KUBEADM = {
    "method": "kubeadm",
    "endpoint": "h:6443",
    "token": TOKEN,
    "ca_cert_hashes": ["sha256:" + "0" * 64],
}


def test_managers_of_the_kubelet_are_its_arguments(run: Any) -> None:
    """kubernetes/kubernetes v1.36 `cmd/kubelet/app/options/options.go`: names of the arguments. The
    reserved memory is system-reserved and the default threshold of eviction, 100 MiB."""
    made = nodes(run, arguments({"kubelet": ALL_ALIGNED}, join=KUBEADM))[0].inputs
    for name, value in (
        ("cpu-manager-policy", "static"),
        ("topology-manager-policy", "restricted"),
        ("memory-manager-policy", "Static"),
        ("system-reserved", "cpu=2,memory=2048Mi"),
        ("reserved-memory", "0:memory=2148Mi"),
    ):
        assert f"name: {name}" in made["userData"]
        assert value in made["userData"]
    plain = nodes(run, arguments(join=KUBEADM))[0].inputs
    assert plain["bootSha256"] != made["bootSha256"]


@pytest.mark.parametrize(
    ("kubelet", "connection", "expected"),
    [
        (ALIGNED, {}, "the kubelet's arguments are part of `join`"),
        (
            ALIGNED,
            {"join": {**RKE2, "kubelet_arguments": {"cpu-manager-policy": "none"}}},
            "cpu-manager-policy follows from `kubelet` of the pool",
        ),
        (ALL_ALIGNED, {"join": RKE2}, "without an eviction threshold for memory"),
    ],
)
def test_managers_that_the_join_cannot_set(
    run: Any, kubelet: dict[str, Any], connection: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InvalidArgumentsError, match=re.escape(expected)):
        run(lambda: VsphereGpuNodeGroup("g", arguments({"kubelet": kubelet}, **connection)))
