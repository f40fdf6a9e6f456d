"""Containers of the tests of nodes: images, scripts, environment.

Sources of images: NVIDIA GPU Operator documentation (cuda-sample), chart gpu-operator v26.7.0
(dcgm), NVIDIA/aicr 6f68935 `validators/performance/testdata/h100/eks/runtime.yaml` (nccl-tests).
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from gpufleet.cluster.pool import ACCEPTANCE_LABEL
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.manifest import Manifest
from gpufleet.fleet.model import Fleet, Pool

NAMESPACE = "gpufleet-acceptance"
ACCOUNT = "acceptance"
APP = ACCEPTANCE_LABEL
FOLDER = Path(__file__).parent / "acceptance_scripts"
TOOLS_IMAGE = "docker.io/library/busybox:1.37.0-musl"
KUBECTL_IMAGE = (
    "registry.k8s.io/kubectl:v1.36.1"
    "@sha256:d08f476d04d0e30f426f06bc6ff6c38913aaa4591943046b77e2f74a72d3611c"
)
SAMPLE_IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04"
DCGM_IMAGE = "nvcr.io/nvidia/cloud-native/dcgm:4.6.0-1-ubuntu24.04"
NCCL_IMAGE = (
    "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1-efa1.43.2-ofiv1.16.3-ncclv2.27.7-1-testsv2.16.9"
)


@cache
def scripts() -> Mapping[str, str]:
    """File name -> text of the script that the containers run."""
    return {file.name: file.read_text() for file in sorted(FOLDER.glob("*.sh"))}


@cache
def scripts_name() -> str:
    """Name of their ConfigMap, which changes with them."""
    text = "".join(f"{name}\n{content}" for name, content in scripts().items())
    return f"scripts-{sha256(text.encode()).hexdigest()[:8]}"


def environment(pool: Pool, key: str, **more: object) -> list[Manifest]:
    """Environment of every script, and the variables of one script; None is left out."""
    plain = {"POOL": pool.name, "KEY": key, "NAMESPACE": NAMESPACE, **more}
    fields = {"NODE": "spec.nodeName", "POD": "metadata.name", "POD_UID": "metadata.uid"}
    return [
        *(
            {"name": name, "value": str(value)}
            for name, value in plain.items()
            if value is not None
        ),
        *(
            {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
            for name, path in fields.items()
        ),
    ]


def container(
    name: str, image: str, script: str, env: list[Manifest], *, kubectl: bool = False
) -> Manifest:
    """A container that runs a script; with `kubectl` its shell comes from the tools volume."""
    shell = ["/tools/busybox", "sh"] if kubectl else ["/bin/sh"]
    return {
        "name": name,
        "image": image,
        "command": [*shell, f"/scripts/{script}"],
        "env": env,
        "volumeMounts": [
            {"name": "tools", "mountPath": "/tools"},
            {"name": "results", "mountPath": "/results"},
            {"name": "scripts", "mountPath": "/scripts"},
        ],
    }


def tools(fleet: Fleet) -> Manifest:
    """Container that copies a shell for containers whose image has no shell."""
    made = container("tools", mirrored(TOOLS_IMAGE, fleet.spec.addons.images), "", [])
    install = "cp /bin/busybox /tools/busybox && /tools/busybox --install /tools"
    return {**made, "command": ["/bin/sh", "-c", install]}


def volumes() -> list[Manifest]:
    """Volumes that `container` mounts."""
    return [
        {"name": "tools", "emptyDir": {}},
        {"name": "results", "emptyDir": {}},
        {"name": "scripts", "configMap": {"name": scripts_name(), "defaultMode": 0o555}},
    ]
