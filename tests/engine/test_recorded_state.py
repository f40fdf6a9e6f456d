"""Stacks that the recorded tree deployed: an update by this tree replaces and removes nothing."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client

from tests.engine.namespaces import await_gone
from tests.engine.recorded_state import RECORDING, Planned, check, recordings_of, which
from tests.engine.sandbox_stack import ROOT, Stack, stack_files
from tests.engine.test_from_nothing import SHARED, empty
from tests.engine.test_gke_examples import CHARTS
from tests.examples import at_night

__all__ = ["empty", "which"]

EXAMPLES = ROOT / "examples"
JOINS = Planned("*eks/accessEntry:AccessEntry::*", "Nodes of Karpenter can join.", "create")
REACHES = Planned(
    "*eks/addon:Addon::*-monitoring-agent-addon", "DCGM of the agent tolerates taints of GPU nodes."
)
STAYS_OFF = Planned(
    "*eks/addon:Addon::*-monitoring-agent-addon", "Agent and DCGM stay off nodes with MIG."
)
UNCOUNTED = Planned("*ResourceQuota::*", "The quota of critical pods limits none.")
WAITS = tuple(
    Planned(f"*{kind}", "New nodes with MIG start without device plugin.")
    for kind in ("LaunchTemplate::*-notebooks-template", "NodeGroup::*-notebooks-group")
)
DRIVER = Planned(
    "*DaemonSet::fleet-driver-installer", "The fleet installs Google's driver.", "create"
)
ALLOWED: dict[str, tuple[Planned, ...]] = {
    "workload-kinds": (
        Planned("*PrometheusRule::*-gpu-monitoring-*", "Texts of alerts are in plain English."),
        Planned("*ClusterQueue::*", "Quotas count whole nodes where each pod takes one."),
        Planned("*Release::*-dra-driver-release", "The DRA driver is 0.5.0."),
        Planned("*Deployment::deployment-vllm", "A gated model is downloaded with a token."),
    ),
    "eks-add-pools": (REACHES,),
    "eks-from-nothing": (REACHES,),
    "eks-inference": (JOINS, REACHES),
    "eks-notebooks": (STAYS_OFF, *WAITS),
    "eks-training": (
        REACHES,
        Planned("*Schedule::gpus-training-drain", "Nodes go before the block ends.", "create"),
        Planned("*NodeGroup::gpus-training-group", "The example's block ends later."),
        Planned("*Schedule::gpus-training-drain", "The example's block ends later."),
    ),
    "stacks-eks-dev": (JOINS, REACHES),
    "stacks-eks-prod": (
        REACHES,
        *WAITS,
        Planned("*NodeGroup::fleet-training-group", "Its tags name the huge pages of EFA."),
        Planned("*autoscaling/tag:Tag::*-hugepages-2Mi", "The group has the same tag.", "create"),
        Planned("*Schedule::fleet-training-drain", "Nodes go before the block ends.", "create"),
        Planned("*Schedule::fleet-training-drain", "The example's block ends later."),
    ),
    "stacks-gke-prod": (
        Planned("*NodePool::fleet-*", "Operands stay off nodes that GKE serves."),
        Planned("*DaemonSet::fleet-gpudirect-*", "Nodes get what GPUDirect needs.", "create"),
        UNCOUNTED,
        DRIVER,
    ),
    "gke-mig-notebooks": (UNCOUNTED, DRIVER),
    "gke-queued-training": (
        Planned("*NodePool::fleet-training-pool", "The provider refuses SHORT_LIVED."),
        Planned("*ResourceFlavor::*", "Jobs tolerate Google's taint of queued nodes."),
    ),
}
"""Updates that are meant, by recording."""
WITHOUT = {
    **dict.fromkeys(
        ("languages/go", "languages/typescript"), "the fleet of yaml, from another language"
    ),
    **dict.fromkeys(("wasteful", "workloads"), "objects of their own, no component"),
    "serving": "objects of its own, and a GpuScaledObject, whose object it shows whole",
    **dict.fromkeys(("gke-gpudirect", "existing-nodes"), "came after the recordings"),
    "vsphere-gpu-modes/mig-backed-vgpu": "the machines of vsphere-gpu-modes",
}
"""Examples of which no state is recorded."""
RECORDED = {
    "languages/python": "python-minimal",
    "languages/yaml": "yaml",
    "eks-pools/another-stack": "eks-pool-in-another-stack",
    "gke-pools/time-sharing": "gke-time-sharing",
}
"""Examples whose recording has the name that they had then."""
EVERYWHERE = (
    Planned("*gpufleet:index:GpuFleet::*", "The summary says of which region a price is."),
)
"""Updates that are meant in every recording."""
EKS = ("add-pools", "inference", "notebooks", "training")
"""Declarations of the example eks-pools; a recording is named eks- and the declaration."""
GKE = ("mig-notebooks", "queued-training")
"""Declarations of the example gke-pools."""
RECORDINGS = "tests/recorded/*/states/*"
"""After a change of one, all are previewed with the commit."""
TEAMS = ("product", "research")
MACHINES = "openshift-machine-api"


def files_of(name: str, recorded_as: str | None = None) -> dict[str, str]:
    """An example's files; the environment it names is here that of the tests.

    `recorded_as` is the project's name in the recording, where the example is a later one.
    """
    found = {
        path.relative_to(EXAMPLES / name).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((EXAMPLES / name).rglob("*"))
        if path.suffix in {".py", ".yaml"} and not path.match("Pulumi.*.yaml")
        if path.parent == EXAMPLES / name or not (path.parent / "Pulumi.yaml").exists()
    }
    text = re.sub(r"  options:\n    virtualenv: [./]+/\.venv\n", "", found["Pulumi.yaml"])
    text = text.replace("options:\n  refresh: always\n", "")
    if recorded_as is not None:
        text = re.sub(r"^name: .*", f"name: {recorded_as}", text)
    return {**found, "Pulumi.yaml": text}


def configured(project: Any, config: dict[str, Any]) -> Any:
    """The project with settings that may be objects."""
    described = yaml.safe_load((project.folder / "Pulumi.yaml").read_text())
    file = project.folder / f"Pulumi.{project.stack}.yaml"
    kept = yaml.safe_load(file.read_text()) if file.exists() else {}
    named = {f"{described['name']}:{key}": value for key, value in config.items()}
    file.write_text(yaml.safe_dump({**kept, "config": named}))
    return project


def places(project: Any, **more: str | int) -> dict[str, str | int]:
    """Replacement of paths of this run in every recording."""
    paths: dict[str, str | int] = {"<charts>": CHARTS}
    if "KUBECONFIG" in project.engine.env:
        paths["<kubeconfig>"] = project.engine.env["KUBECONFIG"]
    return {**paths, **{f"<{key}>": value for key, value in more.items()}}


def places_of(cluster: dict[str, Any]) -> dict[str, str]:
    """Ids of a cluster of the simulated AWS."""
    zones = {f"subnet-{zone}": id_ for zone, id_ in cluster["subnetIdsByZone"].items()}
    keys = ("nodeRoleArn", "vpcId", "clusterSecurityGroupId")
    return {**{key: cluster[key] for key in keys}, **zones}


def compare(name: str, project: Any, *, more: dict[str, Any] | None = None, **options: Any) -> None:
    check(
        name,
        project,
        places(project, **(more or {})),
        (*EVERYWHERE, *ALLOWED.get(name, ())),
        **options,
    )


def test_the_smallest_fleet(cluster_project: Callable[..., Any]) -> None:
    compare("python-minimal", cluster_project(files_of("languages/python"), name="python-minimal"))


def test_each_example_is_recorded() -> None:
    merged = {f"eks-{one}" for one in EKS} | {f"gke-{one}" for one in GKE}
    folders = (file.parent.relative_to(EXAMPLES) for file in EXAMPLES.glob("**/Pulumi.yaml"))
    found = {RECORDED.get(folder.as_posix(), folder.as_posix()) for folder in folders}
    names = found - {"eks-pools", "gke-pools"} | merged
    assert {name for name in names if not recordings_of(name)} == set(WITHOUT)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SHARED)
def test_from_nothing(empty: Callable[[str], Any], name: str) -> None:
    compare(name, empty(name))


@pytest.fixture
def teams_left(core: client.CoreV1Api) -> Iterator[None]:
    """Namespaces of teams are made with the queues and kept when those go."""
    await_gone(core, *TEAMS)
    yield
    for one in core.list_namespace().items:
        if one.metadata.name in TEAMS:
            core.delete_namespace(one.metadata.name)


@pytest.mark.usefixtures("teams_left")
def test_workload_kinds(cluster_project: Callable[..., Any]) -> None:
    compare("workload-kinds", cluster_project(files_of("workload-kinds"), name="workload-kinds"))


def test_a_yaml_program(cluster_project: Callable[..., Any], sandbox: Any) -> None:
    if not (sandbox.layout.bin / "pulumi-language-yaml").exists():
        pytest.skip("pulumi-language-yaml is not made yet; run `gpufleet sandbox programs`")
    text = (EXAMPLES / "languages/yaml" / "Pulumi.yaml").read_text()
    text = text.replace("../../../components", str(ROOT / "components"))
    project = cluster_project({"Pulumi.yaml": text}, name="gpufleet-yaml", runtime="yaml")
    compare(
        "yaml",
        project,
        more={"components": str(ROOT / "components")},
        config={"kubeconfig": str(sandbox.kubeconfig)},
    )


def test_sandbox_dev(stack: Stack) -> None:
    stack.save()
    compare("stacks-sandbox-dev", stack.project)


@pytest.mark.parametrize("name", ["training", *at_night(*EKS[:-1], changed=RECORDINGS)])
def test_examples_on_eks(cloud_cluster_project: Callable[..., Any], clouds: Any, name: str) -> None:
    cluster = clouds.eks_cluster("ml")
    recording = f"eks-{name}"
    project = cloud_cluster_project(files_of("eks-pools", f"gpufleet-{recording}"), name=recording)
    cluster.pop("clusterName")
    connection = {"kubeconfig": project.engine.env["KUBECONFIG"], **cluster}
    configured(project, {"fleet": name, "connection": connection, "charts": CHARTS})
    compare(recording, project, more=places_of(cluster))


@pytest.mark.parametrize("name", ["eks-prod", *at_night("eks-dev", changed=RECORDINGS)])
def test_stacks_on_eks(cloud_cluster_project: Callable[..., Any], clouds: Any, name: str) -> None:
    project = cloud_cluster_project(stack_files(), name="gpufleet")
    stack = Stack(project, f"Pulumi.{name}.yaml")
    cluster = clouds.eks_cluster(stack.fleet["cluster"]["name"])
    given = {key: value for key, value in cluster.items() if key != "clusterName"}
    stack.config["gpufleet:connection"] = {
        "kubeconfig": project.engine.env["KUBECONFIG"],
        "clusterIdentifier": stack.fleet["cluster"]["name"],
        **given,
    }
    stack.fleet.setdefault("addons", {})["charts"] = {"source": {"folder": CHARTS}}
    stack.save()
    compare(f"stacks-{name}", project, more=places_of(cluster))


PLATFORM = """
import pulumi
import yaml

for key, value in yaml.safe_load(open("given.yaml")).items():
    pulumi.export(key, value)
"""


@pytest.mark.nightly
def test_a_pool_of_another_stack(cloud_project: Callable[..., Any], clouds: Any) -> None:
    cluster = clouds.eks_cluster("ml")
    known = {
        "clusterName": "ml",
        "nodeRoleArn": cluster["nodeRoleArn"],
        "subnetA": cluster["subnetIdsByZone"]["us-east-1a"],
        "configurations": ["all-disabled", "default", "vision-cc14f3b4"],
    }
    given = {"__main__.py": PLATFORM, "given.yaml": yaml.safe_dump(known)}
    platform = cloud_project(given, name="platform")
    platform.run("up")
    name = "eks-pool-in-another-stack"
    team = cloud_project(files_of("eks-pools/another-stack"), name=name)
    configured(team, {"platform": f"organization/platform/{platform.stack}"})
    compare(name, team, more={**places_of(cluster), "platform": platform.stack})


@pytest.mark.nightly
def test_time_sharing_on_gke(cloud_project: Callable[..., Any]) -> None:
    project = cloud_project(files_of("gke-pools/time-sharing"), name="gke-time-sharing")
    compare("gke-time-sharing", project, config={"project": "lab"})


@pytest.mark.usefixtures("teams_left")
@pytest.mark.parametrize("name", ["queued-training", *at_night(GKE[0], changed=RECORDINGS)])
def test_examples_on_gke(
    cloud_cluster_project: Callable[..., Any], core: client.CoreV1Api, name: str
) -> None:
    if RECORDING and name == "queued-training":
        for team in TEAMS:
            core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=team)))
    recording = f"gke-{name}"
    project = cloud_cluster_project(files_of("gke-pools", recording), name=recording)
    compare(recording, project, config={"fleet": name, "project": "lab", "charts": CHARTS})


@pytest.mark.parametrize("name", ["gke-prod", *at_night("gke-dev", changed=RECORDINGS)])
def test_stacks_on_gke(cloud_cluster_project: Callable[..., Any], name: str) -> None:
    project = cloud_cluster_project(stack_files(), name="gpufleet")
    stack = Stack(project, f"Pulumi.{name}.yaml")
    connection = stack.config["gpufleet:connection"]
    connection.pop("clusterStack")
    connection["kubeconfig"] = project.engine.env["KUBECONFIG"]
    connection["serviceAccount"] = "nodes@acme-ml.iam.gserviceaccount.com"
    stack.fleet.setdefault("addons", {})["charts"] = {"source": {"folder": CHARTS}}
    stack.save()
    compare(f"stacks-{name}", project)


@pytest.fixture
def machines(core: client.CoreV1Api) -> Iterator[None]:
    """The namespace that every OpenShift has."""
    if not RECORDING:
        yield
        return
    await_gone(core, MACHINES)
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=MACHINES)))
    yield
    core.delete_namespace(MACHINES)


@pytest.mark.usefixtures("machines")
def test_openshift_lab(cluster_project: Callable[..., Any], sandbox: Any) -> None:
    stack = Stack(cluster_project(stack_files(), name="gpufleet"), "Pulumi.openshift-lab.yaml")
    stack.config["gpufleet:connection"]["kubeconfig"] = str(sandbox.kubeconfig)
    stack.save()
    compare("stacks-openshift-lab", stack.project)


@pytest.mark.nightly
@pytest.mark.usefixtures("machines")
def test_the_example_on_openshift(cluster_project: Callable[..., Any]) -> None:
    name = "openshift-gpu-pools"
    settings = {
        "infrastructureName": "lab-x7k2p",
        "server": "vcenter.lab.example.com",
        "network": "machines",
        "template": "rhcos-422-l4",
        "trainingTemplate": "rhcos-422-a100-2",
    }
    compare(name, cluster_project(files_of(name), name=name), config=settings)
