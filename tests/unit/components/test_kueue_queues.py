from typing import Any

import pytest

from gpufleet.addons.kueue_queues import KueueQueues
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.reading import yaml_data

RELEASE = "kubernetes:helm.sh/v3:Release"
KUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:"
TEAMS = [
    {"name": "lab", "share": 0.5, "namespaces": ["lab-a", "lab-b"]},
    {"name": "app", "share": 0.5},
]


def args(queues: dict[str, Any] | None = None, **more: Any) -> Any:
    pools = [
        {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 3}},
        {
            "name": "notebooks",
            "instance_types": ["p4de.24xlarge"],
            "nodes": {"min": 1, "max": 1},
            "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
        },
    ]
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "region": "us-east-1",
        "pools": pools,
        "queues": {"teams": TEAMS, **(queues or {})},
        **more,
    }


def test_chart_then_flavors_then_queues(run: Any) -> None:
    recorded = run(lambda: KueueQueues("q", args()))
    release = recorded.one(RELEASE)
    chosen = {key: release.inputs[key] for key in ("chart", "version", "namespace")}
    assert chosen == {
        "chart": "oci://registry.k8s.io/kueue/charts/kueue",
        "version": "0.19.2",
        "namespace": "kueue-system",
    }
    text = release.inputs["values"]["managerConfig"]["controllerManagerConfigYaml"]
    configuration = yaml_data(text)
    assert configuration["waitForPodsReady"]["timeout"] == "60m0s"
    assert configuration["resources"] == {"quotaCheckStrategy": "IgnoreUndeclared"}
    flavors = recorded.all(f"{KUEUE}ResourceFlavor")
    assert [f.inputs["metadata"]["name"] for f in flavors] == ["chat", "notebooks"]
    assert all("q-release" in f.depends_on for f in flavors)
    queues = recorded.all(f"{KUEUE}ClusterQueue")
    assert {f.name for f in flavors} <= set(queues[0].depends_on)
    locals_ = recorded.all(f"{KUEUE}LocalQueue")
    places = sorted(q.inputs["metadata"]["namespace"] for q in locals_)
    assert places == ["app", "lab-a", "lab-b"]
    assert {q.name for q in queues} <= set(locals_[0].depends_on)
    assert recorded.warnings == []


def test_an_existing_kueue_gets_queues_only(run: Any) -> None:
    existing = {"kueue": {"ownership": "existing"}}
    recorded = run(lambda: KueueQueues("q", args(addons=existing)))
    assert recorded.all(RELEASE) == []
    assert recorded.all("kubernetes:core/v1:Namespace") == []
    assert len(recorded.all(f"{KUEUE}ClusterQueue")) == 2


def test_namespaces_are_made_when_asked(run: Any) -> None:
    recorded = run(lambda: KueueQueues("q", args({"create_namespaces": True})))
    names = {n.inputs["metadata"]["name"] for n in recorded.all("kubernetes:core/v1:Namespace")}
    assert names == {"kueue-system", "lab-a", "lab-b", "app"}


def test_priorities_keep_their_value_at_the_top(run: Any) -> None:
    priorities = [{"name": "urgent", "value": 1000, "description": "people wait"}]
    recorded = run(lambda: KueueQueues("q", args({"priorities": priorities})))
    made = recorded.one(f"{KUEUE}WorkloadPriorityClass")
    assert (made.inputs["value"], made.inputs["description"]) == (1000, "people wait")
    assert "spec" not in made.inputs


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (
            {"teams": [{"name": "a", "share": 0.9}, {"name": "b", "share": 0.9}]},
            "team-shares-over-one",
        ),
        ({"atomic_scale_up": ["chat"]}, "atomic-scale-up-without-autoscaler"),
        ({"cohrts": []}, "argument-unknown"),
    ],
)
def test_wrong_queues_are_refused_before_anything_is_made(
    run: Any, wrong: dict[str, Any], code: str
) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            KueueQueues("q", args(wrong))
        assert code in str(caught.value)

    assert run(program).resources == []
