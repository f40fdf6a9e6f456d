"""Preflight of nodes that exist: what a cluster that is asked says against the declaration."""

from typing import Any

import pytest

from gpufleet.components_base.answers import Answers, NotAnsweredError, Wiring
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.existing import preflight

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8"}


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "status": {"capacity": {}}}


class Cluster:
    """What a cluster answers."""

    def __init__(self, *nodes: Any, plugin: str = "", allowed: bool = True) -> None:
        self.given, self.plugin, self.allowed = list(nodes), plugin, allowed
        self.asked: list[str] = []

    def nodes(self, path: str) -> list[dict[str, Any]]:
        return self.given

    def daemon_sets(self, path: str) -> list[dict[str, Any]]:
        found = {"metadata": {"name": "nvidia-device-plugin-daemonset", "namespace": self.plugin}}
        return [found] if self.plugin else []

    def may(self, verb: str, group: str, plural: str, namespace: str | None, path: str) -> bool:
        self.asked.append(f"{verb} {plural}")
        return self.allowed


def asked(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, **pool: Any) -> list[str]:
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
            "cluster": {"name": "metal"},
            "pools": [usual | pool],
        }
    )
    assert made.fleet is not None
    assert made.deployable, made.findings
    return [one.code for one in preflight.ask(made.fleet, Wiring()).findings]


def test_a_cluster_that_is_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(node("a", **H100))
    assert asked(monkeypatch, cluster) == []
    assert cluster.asked == ["patch nodes"]
    rule = Cluster(node("a", **H100))
    assert asked(monkeypatch, rule, existing=None) == []
    assert rule.asked == ["create nodefeaturerules"]


@pytest.mark.parametrize(
    ("cluster", "pool", "code"),
    [
        (Cluster(), {}, "existing-node-missing"),
        (
            Cluster(node("a", **{"nvidia.com/gpu.product": "NVIDIA-L4"})),
            {},
            "existing-node-other-gpu",
        ),
        (
            Cluster(node("a", **(H100 | {"nvidia.com/gpu.count": "4"}))),
            {},
            "existing-node-other-count",
        ),
        (
            Cluster(node("a", **H100, **{"nvidia.com/cuda.driver-version.full": "580.1"})),
            {"image": "plain"},
            "existing-node-has-driver",
        ),
        (Cluster(node("a", **H100), plugin="kube-system"), {}, "existing-device-plugin"),
        (Cluster(node("a", **H100), allowed=False), {}, "existing-labels-not-allowed"),
        (
            Cluster(*(node(name, **H100) for name in "abc")),
            {"existing": {"namePattern": "[a-c]"}},
            "existing-nodes-other-count",
        ),
    ],
)
def test_what_is_otherwise(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster, pool: dict[str, Any], code: str
) -> None:
    assert asked(monkeypatch, cluster, **pool) == [code]


def test_a_slice_has_the_name_of_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = H100 | {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}
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
