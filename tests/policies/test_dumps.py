"""Dumps of a running cluster (`kubectl get -o json`): one cause, one object, one verdict."""

from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.plain import plain
from tests.policies.cases.workloads import template
from tests.policies.objects import DEPLOYMENT, changed


def owned(kind: str, owner: str, api: str = "apps/v1", **more: Any) -> dict[str, Any]:
    """An object that a controller made."""
    reference = {"apiVersion": api, "kind": owner, "name": "owner", "controller": True}
    return {
        "apiVersion": "v1" if kind == "Pod" else "apps/v1",
        "kind": kind,
        "metadata": {"name": f"{kind.lower()}-1", "ownerReferences": [reference]},
        "spec": template() if kind != "Pod" else template()["spec"],
        **more,
    }


def kinds(*objects: dict[str, Any]) -> list[str]:
    """Kinds that are validated of a dump."""
    dump = plain({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return [f.locator.kind for f in facts_of_document(dump) if isinstance(f, WorkloadFacts)]


def test_owners_are_judged_and_what_they_made_is_not():
    made = [owned("ReplicaSet", "Deployment"), owned("Pod", "ReplicaSet")]
    assert kinds(DEPLOYMENT, *made) == ["Deployment"]


def test_pods_of_owners_that_nobody_knows_are_judged():
    assert kinds(owned("Pod", "Crawler", "acme.example/v1")) == ["Pod"]
    loose = changed(owned("Pod", "ReplicaSet"), {"metadata.ownerReferences": []})
    assert kinds(loose) == ["Pod"]


def app_wrapper(*templates: Any, **metadata: Any) -> dict[str, Any]:
    """The form of project-codeflare/appwrapper, samples/wrapped-gpu-job.yaml."""
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "wrapped", **metadata},
        "spec": {"components": [{"template": one} for one in templates]},
    }


def test_what_an_app_wrapper_makes_is_judged_in_its_namespace_and_queue():
    bare = {**DEPLOYMENT, "metadata": {"name": "chat"}}
    labels = {"kueue.x-k8s.io/queue-name": "team", "app": "other"}
    found = facts_of_document(
        plain(app_wrapper(bare, None, DEPLOYMENT, namespace="lab", labels=labels))
    )
    workloads = [one for one in found if isinstance(one, WorkloadFacts)]
    assert [str(one.locator) for one in workloads] == ["Deployment lab/chat", "Deployment ml/chat"]
    assert all(one.labels["kueue.x-k8s.io/queue-name"] == "team" for one in workloads)
    assert "other" not in workloads[0].labels.values()


def test_services_of_a_nim_pipeline_are_judged_in_its_namespace():
    """NVIDIA/k8s-nim-operator v3.1.2 api/apps/v1alpha1/nimpipeline_types.go."""
    spec = {"replicas": 2, "resources": {"limits": {"nvidia.com/gpu": 1}}}
    off = {"name": "embed", "enabled": False, "spec": spec}
    pipeline = {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMPipeline",
        "metadata": {"name": "rag", "namespace": "nim"},
        "spec": {"services": [{"name": "llm", "enabled": True, "spec": spec}, off]},
    }
    found = [one for one in facts_of_document(plain(pipeline)) if isinstance(one, WorkloadFacts)]
    assert [str(one.locator) for one in found] == ["NIMService nim/llm"]
    assert found[0].pod_groups[0].pod_gpus("nvidia.com/gpu").found == 1


def test_the_object_in_the_cluster_is_left_to_its_app_wrapper():
    made = owned("Pod", "AppWrapper", "workload.codeflare.dev/v1beta2")
    assert kinds(app_wrapper(DEPLOYMENT), made) == ["Deployment"]


def test_pods_that_ended_hold_nothing():
    for phase, validated in (("Succeeded", []), ("Failed", []), ("Running", ["Pod"])):
        pod = owned("Pod", "Crawler", "acme.example/v1", status={"phase": phase})
        assert kinds(pod) == validated


def test_what_a_cluster_adds_to_an_object_changes_nothing():
    live = changed(
        DEPLOYMENT,
        {
            "metadata.uid": "1",
            "metadata.managedFields": [{"manager": "kubectl"}],
            "metadata.annotations": {"deployment.kubernetes.io/revision": "3"},
            "spec.template.spec.schedulerName": "default-scheduler",
            "spec.template.spec.securityContext": {},
            "status": {"replicas": 4},
        },
    )
    assert kinds(live) == ["Deployment"]
    from tests.policies.objects import STRICT, findings, workload

    assert findings(workload(live), settings=STRICT) == []


def test_members_of_a_typed_list_have_the_kind_of_their_list():
    bare = {key: value for key, value in DEPLOYMENT.items() if key not in ("apiVersion", "kind")}
    dump = plain({"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [bare, None, "x"]})
    found = [f for f in facts_of_document(dump) if isinstance(f, WorkloadFacts)]
    assert [str(f.locator) for f in found] == ["Deployment ml/chat"]
    untyped = plain({"apiVersion": "v1", "kind": "List", "items": [bare]})
    assert facts_of_document(untyped) == ()
