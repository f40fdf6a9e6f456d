"""Visible results of this tree equal those of the recorded one, except the listed differences.

`tests/recorded/record.py` defines the recording.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.recorded.commands import compiled, planned, rendered
from tests.recorded.differences import Allowed, differences, recording, recordings
from tests.recorded.programs import DECLARATIONS, RECORDINGS, programs
from tests.recorded.registrations import registered

ALLOWED: tuple[Allowed, ...] = (
    Allowed("render", "*", "/clouds/aws/*/userData", "Files have the user data of the nodes."),
    *(
        Allowed(part, "workload-kinds", place, "What other pools advertise is evidence, too.")
        for part, place in (
            ("compile", "/findings/*/evidence/both/*"),
            ("resources", "*GpuFleet::fleet/inputs/findings/*/evidence/both/*"),
        )
    ),
    Allowed(
        "plan",
        "sandbox-training",
        "/pools/2/sharing/mig/layouts/0/devices/*",
        "Layouts come from an integer program: seven 1g.10gb hold the same shares.",
    ),
    *(
        Allowed(part, "*", place, "The DRA driver is pinned to the operator's release, 0.5.0.")
        for part in ("compile", "render", "resources")
        for place in (
            "*dra-driver-nvidia-gpu*ersion",
            "*draDriver*ersion",
            "*dra-driver*tag",
            "*dra-driver*targetRevision",
            "*DraDriver*ersion*",
        )
    ),
    *(
        Allowed(part, "*", "*/cluster/featureGates", "A cluster may name gates of its own.")
        for part in ("compile", "resources")
    ),
    *(
        Allowed(part, "*gke-*", place, "The fleet runs Google's driver installer itself.")
        for part, place in (
            ("render", "*driver-installer*"),
            ("resources", "*DaemonSet::*driver-installer*"),
            ("compile", "*findings*"),
        )
    ),
    *(
        Allowed(part, "*gke-*", place, "The quota of critical pods limits none.")
        for part, place in (
            ("render", "*gpu-operator/quota.yaml*/spec/hard/pods"),
            ("resources", "*ResourceQuota::*/inputs/spec/hard/pods"),
        )
    ),
    *(
        Allowed(
            part, "*gke-prod*", place, "The GPU Operator's operands stay off nodes that GKE serves."
        )
        for part, place in (
            ("render", "*nvidia.com/gpu.deploy.operands"),
            ("compile", "*nvidia.com/gpu.deploy.operands"),
            ("resources", "*nvidia.com/gpu.deploy.operands"),
        )
    ),
    *(
        Allowed(part, "workload-kinds", place, why)
        for part in ("compile", "resources")
        for place, why in (
            ("*findings/0/fix", "The fix names the key of the taint."),
            ("*findings/1/*", "DCGM reports nothing of the pool without NVIDIA's GPUs."),
        )
    ),
    Allowed(
        "resources",
        "eks-training",
        "*/inputs/tags/gpufleet.dev/capacity-block-until",
        "The example's block ends later, so that it previews for months.",
    ),
    Allowed(
        "resources",
        "*eks*",
        "*eks/addon:Addon::*-monitoring-agent-addon/inputs/configurationValues*",
        "DCGM of the node monitoring agent tolerates the taints of GPU nodes.",
    ),
    *(
        Allowed(part, "gke-queued-training", place, because)
        for part in ("compile", "render", "resources")
        for place, because in (
            ("*autoUpgrade", "A cluster in a release channel refuses false."),
            ("*taints*", "GKE's taint of queued nodes is tolerated."),
            ("*olerations*", "GKE's taint of queued nodes is tolerated."),
            ("*odeTaints*", "GKE's taint of queued nodes is tolerated."),
            ("*gke-queued", "Pods of queued nodes name them."),
        )
    ),
    *(
        Allowed(part, name, "*findings*", "Node repair learns little of nodes with MIG.")
        for part in ("compile", "resources")
        for name in ("*eks*", "plan-slices")
    ),
    Allowed(
        "resources",
        "*",
        "*resource.k8s.io/v1:*/aliases/*",
        "Claims, templates and classes keep their object when the API version changes.",
    ),
    *(
        Allowed(
            part,
            name,
            place,
            "New nodes with MIG start without device plugin: it would advertise whole GPUs first.",
        )
        for part, name, place in (
            ("render", "plan-slices", "*labels/nvidia.com/gpu.deploy.device-plugin"),
            ("resources", "*eks*", "*:LaunchTemplate::*-notebooks-template/inputs/userData"),
        )
    ),
    Allowed(
        "resources",
        "workload-kinds",
        "*Deployment::deployment-vllm/*/env/*",
        "A gated model is downloaded with a token.",
    ),
    Allowed(
        "resources",
        "*openshift*",
        "*OpenShiftGpuMachineSet*/outputs/machineSets*",
        "A pool on a cloud has a MachineSet for each zone: an output names all.",
    ),
    *(
        Allowed(
            part, "workload-kinds", place, "Of pools whose pods take whole nodes, nodes are split."
        )
        for part, place in (
            ("render", "*nominalQuota"),
            ("resources", "*nominalQuota"),
            ("resources", "*/outputs/quota/*"),
        )
    ),
    *(
        Allowed(part, "*gke*", place, "Pods with GPUDirect on GKE get what NCCL needs to use it.")
        for part, place in (
            ("render", "*pods/*"),
            ("compile", "*findings/*"),
            ("resources", "*/inputs/findings/*"),
            ("render", "*manifests/gke/gpudirect-*"),
            ("resources", "*apps/v1:DaemonSet::*-gpudirect-*"),
        )
    ),
    *(
        Allowed(
            part,
            "*",
            place,
            "Nodes of a Capacity Block come when it begins and go before EC2 terminates them.",
        )
        for part, place in (
            ("render", "*/schedules/*"),
            ("resources", "*aws:autoscaling/schedule:Schedule::*"),
        )
    ),
    Allowed(
        "resources",
        "*vsphere*",
        "*/inputs/__provider",
        "Machines are resources of the package's own plugin: no provider is kept in the state.",
    ),
    Allowed(
        "resources",
        "*",
        "*aws:eks/accessEntry:AccessEntry::*-karpenter-access*",
        "Fleets of Karpenter alone let their machines join. Write `accessEntry: false` where the "
        "node role has an access entry.",
    ),
    *(
        Allowed("resources", name, "*/dependsOn/*", "Karpenter waits for that access entry.")
        for name in ("eks-inference", "stacks-eks-dev")
    ),
    *(
        Allowed(
            part,
            "*eks*",
            "*resources*hugepages-2Mi*",
            "Groups of Cluster Autoscaler with EFA tell it of their huge pages, which pods with "
            "EFA ask for: from zero it would never start a node.",
        )
        for part in ("render", "resources")
    ),
    *(
        Allowed(
            part,
            "gke-queued-training",
            f"*upgradeSettings{below}",
            "Google's provider refuses SHORT_LIVED, so no such pool could be made: flex start and "
            "queued capacity leave the block out, and the API chooses short-lived upgrades.",
        )
        for part in ("render", "resources")
        for below in ("", "/strategy")
    ),
    *(
        Allowed(
            "resources",
            "admission",
            place,
            "Rules of taste (deadlines, retries, requests of CPU and memory) are on in the strict "
            "profile only, and rules about one question are one: fewer expressions and policies. "
            "Two rules have the codes of `gpufleet check`; annotations with former ids count too.",
        )
        for place in (
            "*admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy*",
            "*/outputs/policyNames/*",
            "*/outputs/rules/*",
        )
    ),
    *(
        Allowed(part, "*", place, "A cluster of GKE may be in Autopilot mode.")
        for part, place in (
            ("compile", "/fleet/cluster/autopilot"),
            ("resources", "*/inputs/fleet/cluster/autopilot"),
        )
    ),
    *(
        Allowed(part, "*", place, "The compiled fleet says of which region a price is.")
        for part, place in (
            ("compile", "/fleet/pools/*/priceRegion"),
            ("resources", "*/inputs/fleet/pools/*/priceRegion"),
        )
    ),
    *(
        Allowed(part, "*", place, "The compiled fleet says what of a share's memory is enforced.")
        for part, place in (
            ("compile", "/fleet/pools/*/partition/shares/*/memoryEnforced"),
            ("compile", "/fleet/pools/*/partition/shares/*/deviceBytes"),
            ("resources", "*/inputs/fleet/pools/*/partition/shares/*/memoryEnforced"),
            ("resources", "*/inputs/fleet/pools/*/partition/shares/*/deviceBytes"),
        )
    ),
    *(
        Allowed(part, "*", place, "nvidia-smi lists 9.50 GiB for 1g.10gb of the A100 with 80 GB.")
        for part, place in (
            ("compile", "/fleet/pools/*/partition/shares/*/memoryBytes"),
            ("resources", "*/inputs/fleet/pools/*/partition/shares/*/memoryBytes"),
        )
    ),
    *(
        Allowed(part, name, "*", "In production, a spot price of another region is not known.")
        for part, name in (("plan", "team"), ("compile", "plan-team"))
    ),
    *(
        Allowed("resources", "*vsphere*", place, why)
        for place, why in (
            (
                "*vsphere:MachineOwner::*",
                "Each group has an id of its own, made before its machines; nothing to do.",
            ),
            (
                "*vsphere:MachineGroup::*",
                (
                    "One resource has all machines of a pool, and a batch becomes it by an alias: "
                    "policies and `--target` name the group."
                ),
            ),
            (
                "*gpufleet:VsphereGpuNode*",
                (
                    "A machine is no resource of its own any more; the next update forgets its "
                    "record, and the machine stays."
                ),
            ),
            ("*VsphereGpuNodeGroup::*/outputs/*", "Without an engine a group has no machines."),
        )
    ),
    Allowed(
        "render",
        "*",
        "*openshift/*/spec/replicas",
        "Files of scaled MachineSets hold no size: applied again, they would undo the autoscaler.",
    ),
    *(
        Allowed(
            "plan",
            name,
            "*",
            "vLLM V1 takes more for its sampler and CUDA graphs: slices are larger. "
            "`maxSequences` makes them smaller.",
        )
        for name in ("slices", "sandbox-slices")
    ),
    *(
        Allowed(
            "plan", name, place, "vLLM takes 0.9 GiB on one GPU besides the model: fewer share."
        )
        for name, place in (
            ("sandbox-shared", "/budget/usdPerHour"),
            ("sandbox-shared", "/pools/*"),
            ("sandbox-training", "/pools/3/*"),
        )
    ),
    *(
        Allowed(part, "*", place, "Texts for people are in plain English; nothing to do.")
        for part, place in (
            ("compile", "/findings/*/message"),
            ("resources", "*GpuFleet::fleet/inputs/findings/*/message"),
            ("render", "*/rules.yaml/*/annotations/description"),
            ("resources", "*/inputs/spec/validations/*/message"),
            ("resources", "*/inputs/spec/validations/*/messageExpression"),
            ("resources", "*/annotations/description"),
        )
    ),
)
"""Differences that are meant. An entry names the reason, and what users have to do."""

PROGRAMS = programs()


def check(part: str, name: str, found: dict[str, Any]) -> None:
    different = differences(part, name, found, ALLOWED)
    assert not different, "\n".join(["differs from the recording:", *different])


def test_everything_recorded_is_compared() -> None:
    declared = {file.stem for file in DECLARATIONS.glob("*.yaml")}
    assert set(recordings("render")) == set(recordings("compile")) == declared
    assert set(recordings("resources")) == set(PROGRAMS)
    assert {file.stem for file in (RECORDINGS / "workloads").glob("*.yaml")} == set(
        recordings("plan")
    )


@pytest.mark.parametrize("name", recordings("render"))
def test_the_same_files_are_rendered(name: str, tmp_path: Path) -> None:
    check("render", name, rendered(DECLARATIONS / f"{name}.yaml", tmp_path / "out"))


@pytest.mark.parametrize("name", recordings("compile"))
def test_the_same_fleet_is_compiled(name: str) -> None:
    check("compile", name, compiled(DECLARATIONS / f"{name}.yaml"))


@pytest.mark.parametrize("name", recordings("plan"))
def test_the_same_fleet_is_planned(name: str) -> None:
    check("plan", name, planned(RECORDINGS / "workloads" / f"{name}.yaml"))


@pytest.mark.parametrize("name", recordings("resources"))
def test_the_same_resources_are_registered(name: str, tmp_path: Path) -> None:
    check("resources", name, registered(PROGRAMS[name], tmp_path))


def test_a_difference_is_found_and_may_be_allowed() -> None:
    name = "python-minimal"
    found = recording("compile", name)
    found["fleet"]["platform"] = "eks"
    found["new"] = {"a": [1]}
    assert differences("compile", name, found) == [
        '/fleet/platform: "sandbox" -> "eks"',
        "/new/a/0: nothing -> 1",
    ]
    allowed = (
        Allowed("compile", "python-*", "/fleet/platform", "a test"),
        Allowed("compile", "*", "/new/*", "a test"),
    )
    assert differences("compile", name, found, allowed) == []
