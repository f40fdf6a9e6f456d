"""Everything that keeps an idle Ray replica: of all groups, of one group, of a Serve deployment."""

from typing import Any

import pytest

from gpufleet.cluster import WorkloadFacts
from gpufleet_policies.readers.documents import facts_of_document
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.scaling import RAY
from tests.policies.objects import changed

RULE = "scale-down-too-slow"
GROUP = "spec.workerGroupSpecs[0]"


def said(document: dict[str, Any]) -> list[str]:
    """Findings of the rule, by place."""
    thing = manifest(document)
    case = Case(RULE, thing, thing, "", alongside=(), settings={"profile": "strict"})
    return [f.path for f in case.findings(thing) if f.code == RULE]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"spec.autoscalerOptions": {"idleTimeoutSeconds": 7200}}, "spec.autoscalerOptions"),
        ({f"{GROUP}.idleTimeoutSeconds": 7200}, GROUP),
    ],
)
def test_the_timeout_of_all_groups_and_of_one(changes: dict[str, Any], place: str):
    assert said(changed(RAY, changes)) == [f"{place}.idleTimeoutSeconds"]


def test_the_timeout_of_a_group_wins_over_that_of_all():
    options = {"spec.autoscalerOptions": {"idleTimeoutSeconds": 7200}}
    assert said(changed(RAY, {**options, f"{GROUP}.idleTimeoutSeconds": 60})) == []


def service(delay: Any, gpus: Any = 1, text: str | None = None) -> dict[str, Any]:
    """A RayService with one autoscaled deployment."""
    config = f"""
applications:
- name: chat
  deployments:
  - name: llm
    ray_actor_options: {{num_gpus: {gpus}}}
    autoscaling_config:
      max_replicas: 2
      downscale_delay_s: {delay}
"""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": "chat", "namespace": "ml"},
        "spec": {
            "serveConfigV2": config if text is None else text,
            "rayClusterConfig": changed(RAY, {})["spec"],
        },
    }


@pytest.mark.parametrize("delay", [3600, "3600.0", "3.6e3"])
def test_a_long_delay_of_serve_is_named(delay: Any):
    assert said(service(delay)) == ["spec.serveConfigV2: downscale_delay_s"]


@pytest.mark.parametrize(
    "document",
    [
        service(600),
        service(3600, gpus=0),
        service("soon"),
        service("1e999999999"),
        service(0, text="applications: [1, {deployments: [x]}]"),
        service(0, text="{{ .Values.serve }}"),
        service(0, text="- a list"),
        service(0, text="a: [1"),
    ],
)
def test_short_unknown_and_unreadable_delays_are_silent(document: dict[str, Any]):
    assert said(document) == []


def test_the_longest_wait_of_deployments_with_gpus_counts():
    facts = facts_of_document(service(900), "ray.yaml")
    workload = next(one for one in facts if isinstance(one, WorkloadFacts))
    assert workload.ray is not None
    assert workload.ray.downscale_delay_seconds.value == 900
