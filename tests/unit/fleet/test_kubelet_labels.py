"""Labels that a kubelet refuses are refused where the kubelet sets a pool's labels.

Expected values: kubernetes/kubernetes `cmd/kubelet/app/options/options.go` and
`well_known_labels.go`.
"""

from typing import Any

import pytest

from gpufleet.fleet.pool_rules import kubelet_sets
from gpufleet.platforms.compiled import compile_data

EKS = {"platform": "eks", "cluster": {"name": "a", "region": "us-east-1"}}
GKE = {"platform": "gke", "cluster": {"name": "a", "region": "us-central1"}}
OF_KUBERNETES = ("app.kubernetes.io/part-of", "k8s.io/x", "team.k8s.io/x")


def codes(head: dict[str, Any], key: str, **pool: Any) -> set[str]:
    one = {"name": "p", "gpu": "L4", "nodes": {"min": 0, "max": 2}, "labels": {key: "chat"}, **pool}
    found = compile_data({"catalogue": "2026.11", **head, "pools": [one]}).findings
    return {f.code for f in found if f.severity.value == "error"}


@pytest.mark.parametrize("key", OF_KUBERNETES)
@pytest.mark.parametrize("head", [EKS, GKE])
def test_labels_of_kubernetes_are_refused_where_the_kubelet_sets_them(
    head: dict[str, Any], key: str
) -> None:
    assert codes(head, key) == {"label-not-of-kubelet"}


@pytest.mark.parametrize("key", OF_KUBERNETES)
def test_karpenter_sets_labels_itself(key: str) -> None:
    assert codes({**EKS, "provisioner": "karpenter"}, key) == set()


@pytest.mark.parametrize(
    "key", ["node.kubernetes.io/x", "kubelet.kubernetes.io/x", "a.node.kubernetes.io/x", "team/x"]
)
def test_labels_of_the_kubelets_own_domains_pass(key: str) -> None:
    assert codes(EKS, key) == set()


@pytest.mark.parametrize("key", ["node.kubernetes.io/instance-type", "beta.kubernetes.io/os"])
def test_labels_that_the_kubelet_writes_are_reserved(key: str) -> None:
    assert codes(EKS, key) == {"label-reserved"}


def test_vspheres_machines_join_by_their_kubelet() -> None:
    head = {"platform": "vsphere", "cluster": {"name": "a"}}
    assert "label-not-of-kubelet" in codes(head, "app.kubernetes.io/part-of", gpusPerNode=1)


def test_existing_nodes_have_their_labels_already() -> None:
    found = codes(EKS, "app.kubernetes.io/part-of", ownership="existing")
    assert "label-not-of-kubelet" not in found


@pytest.mark.parametrize(
    ("key", "taken"),
    [
        ("plain", True),
        ("example.com/kubernetes.io", True),
        ("notkubernetes.io/x", True),
        ("kubernetes.io/hostname", True),
        ("kubernetes.io/x", False),
        ("node-role.kubernetes.io/worker", False),
    ],
)
def test_the_kubelets_rule(key: str, taken: bool) -> None:
    assert kubelet_sets(key) is taken
