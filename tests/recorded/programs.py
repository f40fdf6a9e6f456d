"""The shipped Pulumi programs whose resources are recorded, with the settings that they run with.

A program is read from the tree under test. Its settings are written here or, for a stack file, are
the recorded declaration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
RECORDINGS = Path(__file__).parent / "a8d13c3"
"""Folder of the recordings, by the commit that they are of."""
DECLARATIONS = RECORDINGS / "declarations"
OWN = Path(__file__).parent
"""Folder of programs that are not shipped and stay as they are."""

EKS_CONNECTION = {
    "kubeconfig": "kubeconfig",
    "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
    "subnetIdsByZone": {"us-east-1a": "subnet-aaaa", "us-east-1b": "subnet-bbbb"},
    "vpcId": "vpc-aaaa",
    "clusterSecurityGroupId": "sg-aaaa",
}
JOIN = {"joinEndpoint": "https://10.0.0.10:9345", "joinToken": "join-token"}
DRIVER = {"driverRepository": "registry.example.com/nvidia"}
OUTPUTS: dict[str, Any] = {
    "kubeconfig": "kubeconfig-of-the-cluster",
    "clusterName": "ml",
    "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
    "vpcId": "vpc-aaaa",
    "clusterSecurityGroupId": "sg-aaaa",
    "privateSubnetA": "subnet-aaaa",
    "privateSubnetB": "subnet-bbbb",
    "subnetA": "subnet-aaaa",
    "nodeServiceAccount": "nodes@acme-ml.iam.gserviceaccount.com",
    **{f"gpuNetwork{number}": f"network-{number}" for number in range(1, 5)},
    **{f"gpuSubnet{number}": f"subnet-{number}" for number in range(1, 5)},
    "configurations": ["all-disabled", "default", "vision-cc14f3b4"],
}
"""Outputs of every stack that a program refers to."""


class _Loader(yaml.SafeLoader):
    """Reads dates as text, as the engine hands them on."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for letter, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(file: Path) -> Any:
    """The document of a file."""
    return yaml.load(file.read_text(encoding="utf-8"), _Loader)


@dataclass(frozen=True)
class Program:
    """A folder with `__main__.py` or a YAML program, and what it runs with."""

    folder: Path
    project: str
    stack: str
    config: Mapping[str, Any]
    secrets: frozenset[str] = field(default_factory=frozenset[str])
    """Full names of the settings that are secret."""
    longest: int = 400
    """Characters. For longer texts a digest is recorded."""


def stack_program(tree: Path, declaration: Path) -> Program:
    """The program of `stacks/` with the settings of a stack file."""
    config = load_yaml(declaration)["config"]
    name = declaration.stem.removeprefix("Pulumi.")
    secrets: frozenset[str] = frozenset()
    if config["gpufleet:fleet"]["platform"] == "vsphere":
        config["gpufleet:joinToken"] = JOIN["joinToken"]
        secrets = frozenset({"gpufleet:joinToken"})
    return Program(tree / "stacks", "gpufleet", name, config, secrets)


def example_program(
    folder: Path, secrets: tuple[str, ...] = (), recorded_as: str | None = None, **settings: Any
) -> Program:
    """An example with settings, and the defaults that its Pulumi.yaml declares.

    `recorded_as` is the project's name in the recording, where the example is a later one.
    """
    described = load_yaml(folder / "Pulumi.yaml")
    project = recorded_as or described["name"]
    defaults = {
        key: about["default"]
        for key, about in (described.get("config") or {}).items()
        if "default" in about
    }
    config = {f"{project}:{key}": value for key, value in {**defaults, **settings}.items()}
    return Program(folder, project, "dev", config, frozenset(f"{project}:{key}" for key in secrets))


def programs(tree: Path = ROOT, stack_files: Path = DECLARATIONS) -> dict[str, Program]:
    """Every program, by the name of its recording.

    Args:
        tree: The checkout whose programs are run.
        stack_files: Folder of `Pulumi.<stack>.yaml`.
    """

    def example(name: str, *secrets: str, **settings: Any) -> Program:
        return example_program(tree / "examples" / name, secrets, **settings)

    stacks = [stack_program(tree, file) for file in sorted(stack_files.glob("Pulumi.*.yaml"))]
    eks = ("add-pools", "inference", "notebooks", "training")
    gke = ("mig-notebooks", "queued-training")
    return {
        **{f"stacks-{program.stack}": program for program in stacks},
        **{
            f"eks-{one}": example(
                "eks-pools", recorded_as=f"gpufleet-eks-{one}", fleet=one, connection=EKS_CONNECTION
            )
            for one in eks
        },
        "eks-pool-in-another-stack": example(
            "eks-pools/another-stack",
            platform="organization/platform/dev",
        ),
        **{
            f"gke-{one}": example("gke-pools", recorded_as=f"gke-{one}", fleet=one, project="lab")
            for one in gke
        },
        "gke-time-sharing": example("gke-pools/time-sharing", project="lab"),
        "admission": Program(OWN / "admission", "admission", "dev", {}, longest=80),
        "each-component": Program(OWN / "each_component", "each-component", "dev", {}),
        "openshift-gpu-pools": example(
            "openshift-gpu-pools",
            infrastructureName="lab-x7k2p",
            server="vcenter.lab.example.com",
            network="machines",
            template="rhcos-422-l4",
            trainingTemplate="rhcos-422-a100-2",
        ),
        "python-minimal": example("languages/python"),
        "vsphere-gpu-modes": example(
            "vsphere-gpu-modes",
            "joinToken",
            connection={
                "server": "vcenter.example.com",
                "datacenter": "DC1",
                "compute_cluster": "gpu",
            },
            template="ubuntu-24-gpu",
            host="esx1.lab.example.com",
            **JOIN,
            **DRIVER,
        ),
        "vsphere-mig-backed-vgpu": example(
            "vsphere-gpu-modes/mig-backed-vgpu",
            "joinToken",
            server="vcenter.example.com",
            template="ubuntu-24-gpu",
            **JOIN,
            **DRIVER,
        ),
        "wasteful": example("wasteful"),
        "workload-kinds": example("workload-kinds"),
        "yaml": Program(tree / "examples" / "languages" / "yaml", "gpufleet-yaml", "dev", {}),
    }
