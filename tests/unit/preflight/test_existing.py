"""Preflight of existing nodes: state of the cluster compared with the declaration."""

from typing import Any

import pytest

from gpufleet.components_base.answers import Answers, NotAnsweredError, Wiring
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.existing import preflight

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8"}
DRIVER = {"nvidia.com/cuda.driver-version.full": "580.95.05"}
K3S, UPSTREAM = "containerd://1.7.20-k3s1", "containerd://1.6.16"
RELEASE = "meta.helm.sh/release-"


def node(name: str, runtime: str = UPSTREAM, /, **labels: str) -> dict[str, Any]:
    info = {"kernelVersion": "6.8.0-59-generic", "containerRuntimeVersion": runtime}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": {},
            "allocatable": {"pods": "110"},
            "nodeInfo": info,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def changed(part: str, **fields: Any) -> dict[str, Any]:
    """The node `a` of eight H100, with other fields in its spec or status."""
    one = node("a", **H100)
    return {**one, part: {**one[part], **fields}}


def program(
    name: str, namespace: str, program: str = "", release: tuple[str, str] | None = None
) -> dict[str, Any]:
    """A Deployment or DaemonSet, of a Helm release in a namespace."""
    labels = {"app.kubernetes.io/name": program} if program else {}
    keys = () if release is None else (f"{RELEASE}name", f"{RELEASE}namespace")
    notes = dict(zip(keys, release or (), strict=True))
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": notes or None,
        }
    }


class Cluster:
    """Contents of a cluster."""

    def __init__(
        self,
        *nodes: Any,
        pods: int = 0,
        version: str = "v1.36.2",
        forbidden: str = "",
        **kinds: Any,
    ) -> None:
        pod = {"metadata": {"namespace": "x"}, "spec": {"nodeName": "a"}, "status": {}}
        self.given = {"nodes": list(nodes), "pods": [pod] * pods, **kinds}
        self.runs, self.forbidden = version, forbidden
        self.asked: list[str] = []

    def ask(self, name: str, /, **facts: Any) -> Any:
        if name == "permission":
            self.asked.append(f"{facts['verb']} {facts['plural']}")
            return {"status": {"allowed": facts["plural"] != self.forbidden}}
        return {"items": self.given.get(name, []), "gitVersion": self.runs}

    def answer(self, name: str, missing: Any = None, /, **facts: Any) -> Any:
        return self.ask(name, **facts)


def answers(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, **pool: Any) -> Answers:
    monkeypatch.setattr(preflight, "ClusterClient", lambda *_: cluster)
    usual = {
        "name": "train",
        "gpu": "H100-80GB",
        "gpusPerNode": 8,
        "nodes": {"min": 1, "max": 2},
        "existing": {"nodes": ["a"]},
    }
    made = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "existing",
            "cluster": {"name": "metal", "kubernetesVersion": "1.36"},
            "pools": [usual | pool],
        }
    )
    assert made.fleet is not None
    assert made.deployable, made.findings
    return preflight.ask(made.fleet, Wiring())


def asked(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, **pool: Any) -> list[str]:
    """Codes of what is wrong."""
    found = answers(monkeypatch, cluster, **pool).findings
    return [one.code for one in found if one.code != "existing-nodes-seen"]


def test_a_cluster_that_is_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(node("a", **H100))
    assert asked(monkeypatch, cluster) == []
    assert cluster.asked[0] == "patch nodes"
    # What charts consist of: namespaces, definitions, roles, controllers, Helm's own Secrets.
    kinds = "namespaces customresourcedefinitions clusterroles deployments secrets"
    assert cluster.asked[1:] == [f"create {kind}" for kind in kinds.split()]
    rule = Cluster(node("a", **H100))
    assert asked(monkeypatch, rule, existing=None) == []
    assert rule.asked[0] == "create nodefeaturerules"
    by_hand = Cluster(node("a", **H100))
    assert asked(monkeypatch, by_hand, existing={"labels": {}, "labelsBy": "commands"}) == []
    assert by_hand.asked[0] == "create namespaces"


def test_hardware_driver_kernel_and_runtime_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node("a", **H100, **DRIVER), node("b", K3S)]
    found = answers(
        monkeypatch, Cluster(*nodes), existing={"nodes": ["a", "b"]}, image="plain-driver-toolkit"
    )
    told = [one.message for one in found.findings if one.code == "existing-nodes-seen"]
    first, second = told
    assert (
        "8 x NVIDIA-H100-80GB-HBM3, driver 580.95.05, RDMA unknown, kernel 6.8.0-59-generic"
        in first
    )
    assert first.endswith("runtime containerd://1.6.16")
    assert "GPUs unknown x unknown, driver unknown" in second
    assert second.endswith("runtime containerd://1.7.20-k3s1")


@pytest.mark.parametrize(
    ("cluster", "pool", "code"),
    [
        (Cluster(node("b")), {}, "existing-node-missing"),
        (
            Cluster(node("a", **{"nvidia.com/gpu.product": "NVIDIA-L4"})),
            {},
            "existing-node-other-gpus",
        ),
        (
            Cluster(node("a", **(H100 | {"nvidia.com/gpu.count": "4"}))),
            {},
            "existing-node-other-gpus",
        ),
        (
            Cluster(
                changed("status", capacity={"nvidia.com/gpu": "4"}) | {"metadata": {"name": "a"}}
            ),
            {},
            "existing-node-other-gpus",
        ),
        (Cluster(node("a", **H100, **DRIVER)), {"image": "plain"}, "existing-node-has-driver"),
        (Cluster(node("a", K3S, **H100)), {"image": "plain"}, "existing-node-other-runtime"),
        (Cluster(node("a", **H100)), {"image": "rke2"}, "existing-node-other-runtime"),
        (Cluster(node("a", **H100), version="v1.35.4+k3s1"), {}, "cluster-version-differs"),
        (Cluster(node("a", **H100), forbidden="nodes"), {}, "permission-missing"),
        (Cluster(node("a", **H100), forbidden="clusterroles"), {}, "permission-missing"),
        (
            Cluster(*(node(name, **H100) for name in "abc")),
            {"existing": {"namePattern": "[a-c]"}},
            "existing-nodes-other-count",
        ),
        # 110 pods less 101 that run are fewer than the ten that the operator adds.
        (Cluster(node("a", **H100), pods=101), {}, "no-room-on-node"),
        (Cluster(changed("spec", unschedulable=True), node("b")), {}, "no-room-on-node"),
        (
            Cluster(
                changed("status", conditions=[{"type": "Ready", "status": "Unknown"}]), node("b")
            ),
            {},
            "no-room-on-node",
        ),
        (
            Cluster(changed("spec", taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])),
            {},
            "no-room-for-charts",
        ),
    ],
)
def test_what_is_otherwise(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster, pool: dict[str, Any], code: str
) -> None:
    assert asked(monkeypatch, cluster, **pool) == [code]


@pytest.mark.parametrize(
    ("kind", "one", "place"),
    [
        # As NVIDIA's page installs it: with a generated name.
        (
            "deployments",
            program(
                "gpu-operator", "gpu-operator", "gpu-operator", ("gpu-operator-168", "gpu-operator")
            ),
            "addons.gpuOperator",
        ),
        (
            "deployments",
            program("gpu-operator", "nvidia", "gpu-operator", ("gpu-operator", "nvidia")),
            "addons.gpuOperator",
        ),
        (
            "deployments",
            program("nfd-master", "nfd", "node-feature-discovery", ("nfd", "nfd")),
            "addons.gpuOperator",
        ),
        # The device plugin's static manifest, the add-on of OKE, and HAMi's.
        (
            "daemonsets",
            program("nvidia-device-plugin-daemonset", "kube-system"),
            "addons.gpuOperator",
        ),
        ("daemonsets", program("nvidia-gpu-device-plugin", "kube-system"), "addons.gpuOperator"),
        ("daemonsets", program("hami-device-plugin", "kube-system"), "addons.gpuOperator"),
        # The exporter of a cloud: a warning, and the only one here.
        ("daemonsets", program("dcgm-exporter", "kube-system"), "addons.gpuOperator"),
    ],
)
def test_programs_of_others_are_found(
    monkeypatch: pytest.MonkeyPatch, kind: str, one: dict[str, Any], place: str
) -> None:
    found = answers(monkeypatch, Cluster(node("a", **H100), **{kind: [one]})).findings
    (wrong,) = [one for one in found if one.code == "existing-program"]
    assert wrong.path == place
    assert f"{one['metadata']['namespace']}/{one['metadata']['name']} runs" in wrong.message


def test_our_own_programs_are_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ("gpu-operator", "gpu-operator")
    cluster = Cluster(
        node("a", **H100),
        deployments=[
            program("gpu-operator", "gpu-operator", "gpu-operator", ours),
            program("nfd-master", "gpu-operator", "node-feature-discovery", ours),
            program("something", "else", "else", ("a", "b")),
        ],
        # The operator makes it: no Helm release is named on it.
        daemonsets=[program("nvidia-device-plugin-daemonset", "gpu-operator")],
    )
    assert asked(monkeypatch, cluster) == []


def test_a_slice_has_the_name_of_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strategy `single`: product and count are those of the slices."""
    cut = {
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb",
        "nvidia.com/gpu.count": "56",
    }
    assert asked(monkeypatch, Cluster(node("a", **cut))) == []


def divided(**devices: str) -> Cluster:
    one = node("a", **H100)
    one["status"]["capacity"] = {f"nvidia.com/mig-{name}": n for name, n in devices.items()}
    return Cluster(one)


def test_devices_that_the_administrator_made(monkeypatch: pytest.MonkeyPatch) -> None:
    sevenths = {"1g.10gb": "56"}
    assert asked(monkeypatch, divided(**sevenths)) == ["existing-node-divided"]
    layout = {"sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}}
    assert asked(monkeypatch, divided(**sevenths, **{"2g.20gb": "0"}), **layout) == []
    assert asked(monkeypatch, divided(**{"3g.40gb": "16"}), **layout) == ["existing-node-divided"]


def test_a_cluster_that_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(answers: Answers, *_: str) -> Cluster:
        answers.could_not_check("pools", "the cluster", "no kubeconfig", "log in to it")
        raise NotAnsweredError

    made = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "existing",
            "cluster": {"name": "metal"},
            "pools": [{"name": "p", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
        }
    )
    assert made.fleet is not None
    monkeypatch.setattr(preflight, "ClusterClient", unreachable)
    answers = preflight.ask(made.fleet, Wiring())
    assert answers.asked == []
    assert [one.code for one in answers.findings] == ["could-not-check"]
