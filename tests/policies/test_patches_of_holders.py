"""Patches name the fields of the object that is written, not of what is read out of it."""

from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet_policies.resolve.json_patch import patched
from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.pools import GKE_POOL, QUIET
from tests.policies.objects import changed
from tests.policies.test_patches import found

CPU = {"name": "cpu", "nodeConfig": {"machineType": "e2-standard-4"}}


def cluster(changes: dict[str, Any]) -> Thing:
    """A GKE cluster whose GPU pool is the second that it declares itself."""
    pool = changed(GKE_POOL, changes)
    document = {"location": "us-central1-a", "nodePools": [CPU, pool]}
    return Thing("gcp:container/cluster:Cluster", document, "ml")


def one(thing: Thing, rule: str) -> Finding:
    (finding,) = found(thing, rule, *QUIET)
    return finding


def test_a_pool_of_a_cluster_is_mended_in_its_cluster():
    thing = cluster({"management.autoRepair": False})
    finding = one(thing, "gpu-pool-without-repair")
    assert finding.path == "nodePools[1].management.autoRepair"
    remediated = patched(thing.properties, finding.remediation)
    assert remediated["nodePools"][1]["management"] == {"autoRepair": True}
    assert remediated["nodePools"][0] == CPU


def test_clients_of_a_cluster_s_pool_are_lowered_where_they_are_written():
    sharing = {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 90}
    at = "nodeConfig.guestAccelerators[0].gpuSharingConfig"
    thing = cluster({at: sharing})
    finding = one(thing, "sharing-replicas-out-of-range")
    accelerator = patched(thing.properties, finding.remediation)["nodePools"][1]["nodeConfig"]
    assert accelerator["guestAccelerators"][0]["gpuSharingConfig"] == {
        **sharing,
        "maxSharedClientsPerGpu": 48,
    }


def test_the_smallest_size_of_a_cluster_s_pool_is_lowered_there():
    changes = {"autoscaling.minNodeCount": 1, "nodeConfig.resourceLabels.environment": "dev"}
    thing = cluster(changes)
    finding = one(thing, "nonprod-pool-minimum-above-zero")
    remediated = patched(thing.properties, finding.remediation)
    assert remediated["nodePools"][1]["autoscaling"]["minNodeCount"] == 0


@pytest.mark.parametrize("labels", [{}, {"labels": {"app": "x"}}])
def test_a_job_is_labelled_with_the_queue_and_a_chart_is_not(labels: dict[str, Any]):
    from gpufleet_policies.rules.jobs import queue_patch
    from tests.policies.objects import DEPLOYMENT, workload

    document = {**DEPLOYMENT, "metadata": {"name": "train", "namespace": "ml", **labels}}
    own = workload(document)
    made = patched(document, queue_patch(own, "team"))["metadata"]["labels"]
    assert made == {**labels.get("labels", {}), "kueue.x-k8s.io/queue-name": "team"}
    values = {
        "servingEngineSpec": {
            "modelSpec": [{"name": "m", "modelURL": "x/y", "replicaCount": 2, "requestGPU": 8}]
        }
    }
    release = Thing(
        "kubernetes:helm.sh/v3:Release", {"chart": "vllm-stack", "values": values}, "vllm"
    )
    assert manifest(document).is_manifest
    chart = next(fact for fact in release.all_facts if hasattr(fact, "pod_groups"))
    assert queue_patch(chart, "team") == ()
