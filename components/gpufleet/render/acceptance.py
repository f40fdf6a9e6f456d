"""Objects of the tests of nodes before work, which run on each node that has not passed.

A DaemonSet of each pool runs on the nodes without the label of the tests' key: a node that passed
then has neither the pod nor the taint. Sources of images and arguments: NVIDIA GPU Operator
documentation, cuda-sample; NVIDIA DCGM user guide; NVIDIA/aicr 6f68935
`validators/performance/testdata/h100/eks/runtime.yaml` (nccl-tests); cloud-native-docs
`gpu-operator-rdma.rst` (ib_write_bw); kubeflow/mpi-operator v1 (`kubectl exec` as remote shell).
"""

from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from gpufleet.cluster.pool import ACCEPTANCE_LABEL
from gpufleet.contract.dra import driver_root
from gpufleet.contract.owners import Owner
from gpufleet.fleet.acceptance import ACCEPTED_LABEL, Acceptance, acceptance_of
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.manifest import MANAGED_BY, Manifest, manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.nic_cluster_policy import rdma_request
from gpufleet.partition.grant import Grant
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.data_files import OBJECTS, data_file, data_part
from gpufleet.render.dra import acceptance_claims
from gpufleet.render.pod_request import pod_annotations, pod_spec
from gpufleet.spec.pool import Fabric

# Containers of the tests of nodes: images, scripts, environment.
#
# Sources of images: NVIDIA GPU Operator documentation (cuda-sample), chart gpu-operator v26.7.0
# (dcgm), NVIDIA/aicr 6f68935 `validators/performance/testdata/h100/eks/runtime.yaml` (nccl-tests).

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
    given = ({"name": name, "value": str(v)} for name, v in plain.items() if v is not None)
    return [*given, *data_part("acceptance_pods", "fields")]


def container(
    name: str, image: str, script: str, env: list[Manifest], *, kubectl: bool = False
) -> Manifest:
    """A container that runs a script; with `kubectl` its shell comes from the tools volume."""
    shell = ["/tools/busybox", "sh"] if kubectl else ["/bin/sh"]
    command = [*shell, f"/scripts/{script}"]
    return data_part(
        "acceptance_pods", "container", name=name, image=image, command=command, env=env
    )


def tools(fleet: Fleet) -> Manifest:
    """Container that copies a shell for containers whose image has no shell."""
    made = container("tools", mirrored(TOOLS_IMAGE, fleet.spec.addons.images), "", [])
    install = "cp /bin/busybox /tools/busybox && /tools/busybox --install /tools"
    return {**made, "command": ["/bin/sh", "-c", install]}


def volumes(driver: str | None = None, *, shared: bool = False) -> list[Manifest]:
    """Volumes that `container` mounts; with `shared` memory, and a driver's folder of the node."""
    names = {"scripts": scripts_name(), "driver": driver, "shared": shared}
    return data_part("acceptance_pods", "volumes", **names)


_file = files_in(__file__)

FORWARD = {
    Fabric.EFA: "-x FI_PROVIDER=efa -x FI_EFA_USE_DEVICE_RDMA=1 -x FI_EFA_FORK_SAFE=1",
}
"""Options with which mpirun sets variables on the other node (NVIDIA/aicr, file above)."""


def tested(fleet: Fleet) -> list[tuple[Pool, Acceptance]]:
    """Pools whose nodes are tested."""
    found = ((pool, acceptance_of(pool)) for pool in fleet.pools)
    return [(pool, tests) for pool, tests in found if tests is not None]


def key_of(fleet: Fleet, tests: Acceptance) -> str:
    """The key of the tests of a pool: another one tests every node again."""
    operator = fleet.addons.gpu_operator
    driver = operator.version if operator.driver else None
    images = [SAMPLE_IMAGE, DCGM_IMAGE, NCCL_IMAGE]
    return tests.key(driver, images, scripts_name())


def acceptance_files(fleet: Fleet) -> Iterator[Artefact]:
    """The objects as files, pool by pool."""
    if pools := tested(fleet):
        yield from _file("manifests/acceptance/common.yaml", common_objects())
    for pool, tests in pools:
        documents = [verdicts(pool), *pool_objects(fleet, pool, tests)]
        yield from _file("manifests/acceptance/{pool}.yaml", documents, pool=pool.name)


def common_objects() -> list[Manifest]:
    """Namespace, rights and scripts."""
    own = {"name": ACCOUNT, "namespace": NAMESPACE, "labels": MANAGED_BY}
    names = {"namespace": NAMESPACE, "account": ACCOUNT, "own": own}
    found = data_file("acceptance", names, OBJECTS) or {}
    written = manifest("v1", "ConfigMap", scripts_name(), NAMESPACE, data=dict(scripts()))
    return [*found["objects"], written]


def verdicts(pool: Pool) -> Manifest:
    """ConfigMap with the verdict of each node, by the node's name."""
    name, labels = f"verdicts-{pool.name}", {POOL_LABEL: pool.name}
    return manifest("v1", "ConfigMap", name, NAMESPACE, labels)


def pool_objects(fleet: Fleet, pool: Pool, tests: Acceptance) -> list[Manifest]:
    """DaemonSet of the tests, claims that they use, the tests over two nodes, and the wait."""
    key = key_of(fleet, tests)
    images = fleet.spec.addons.images
    made = [*acceptance_claims(fleet, pool, NAMESPACE), _daemon_set(fleet, pool, tests, key)]
    shares = [one for one in pool.partition.shares if one.resource in pool.advertised]
    if tests.between and shares:
        over = {"nccl": mirrored(NCCL_IMAGE, images)}
        if pool.fabric is Fabric.RDMA and tests.policy.perftest_image is not None:
            over["rdma"] = tests.policy.perftest_image
        made += [_pair(fleet, pool, tests, key, one, over[one], shares[0]) for one in over]
    return [*made, _wait(fleet, pool, tests, key)]


def _sees_all(pool: Pool, one: Manifest) -> Manifest:
    seen = data_part("acceptance_pods", "seesAll", driver=_own_driver(pool))
    return {**one, **seen, **{key: one[key] + seen[key] for key in ("env", "volumeMounts")}}


def _own_driver(pool: Pool) -> str | None:
    """Folder of a driver that the platform's own plugin mounts into pods."""
    root = driver_root(pool.image, pool.platform)
    return root if pool.served_by_platform and root != "/" else None


def _daemon_set(fleet: Fleet, pool: Pool, tests: Acceptance, key: str) -> Manifest:
    images, policy = fleet.spec.addons.images, tests.policy
    kubectl = mirrored(KUBECTL_IMAGE, images)
    advertised = " ".join(f"{name}={count}" for name, count in sorted(tests.advertised.items()))
    floor = None if pool.health is None else pool.health.floor
    holding = environment(
        pool,
        key,
        FLOOR_NODES=None if floor is None else floor.nodes,
        FLOOR_PERCENT=None if floor is None else floor.percent,
    )
    shares = _work(fleet, pool, key)
    returning = environment(
        pool,
        key,
        TESTS=" ".join([*tests.tests, *(["work"] if shares["containers"] else [])]),
        ADVERTISED=advertised or None,
        RETRY=policy.retry_minutes * 60,
    )
    gate = container("gate", kubectl, "gate.sh", returning, kubectl=True)
    gate["readinessProbe"] = data_part("acceptance_pods", "ready")
    chosen = {"label": POOL_LABEL, "pool": pool.name, "accepted": ACCEPTED_LABEL, "key": key}
    pod = data_part(
        "acceptance_pods",
        "pod",
        namespace=NAMESPACE,
        affinity=data_part("acceptance_pods", "affinity", **chosen),
        tests=[
            tools(fleet),
            container("hold", kubectl, "hold.sh", holding, kubectl=True),
            *(_sees_all(pool, one) for one in _gpu_tests(fleet, pool, tests, key)),
            *shares["containers"],
        ],
        gate=gate,
        volumes=volumes(_own_driver(pool), shared=True),
    )
    toolkit = pool.owners.toolkit is Owner.GPU_OPERATOR
    runtime = {"runtimeClassName": "nvidia"} if toolkit else {}
    own = {APP: pool.name}
    spec = data_part(
        "acceptance_pods",
        "daemonSet",
        selected=own,
        labels={**own, **MANAGED_BY},
        pod={**pod, **shares["pod"], **runtime},
    )
    name, labels = f"acceptance-{pool.name}", {POOL_LABEL: pool.name}
    made = manifest("apps/v1", "DaemonSet", name, NAMESPACE, labels, spec=spec)
    # The wait is a Job's, so that a node without a verdict does not end an update.
    made["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    return made


def _gpu_tests(fleet: Fleet, pool: Pool, tests: Acceptance, key: str) -> Iterator[Manifest]:
    images = fleet.spec.addons.images
    facts = environment(
        pool,
        key,
        GPUS=tests.gpus,
        MEMORY_MIB=tests.memory_mib,
        DRIVER=tests.driver,
        NVLINK="yes" if tests.nvlink else None,
    )
    yield container("facts", mirrored(SAMPLE_IMAGE, images), "facts.sh", facts)
    if tests.diagnostics is not None:
        level = environment(pool, key, LEVEL=tests.diagnostics)
        yield container("dcgm", mirrored(DCGM_IMAGE, images), "dcgm.sh", level)
    if tests.nccl:
        least = environment(pool, key, GPUS=tests.gpus, SIZE=tests.message, LEAST=tests.within_gbs)
        yield container("nccl", mirrored(NCCL_IMAGE, images), "nccl.sh", least)


def _work(fleet: Fleet, pool: Pool, key: str) -> Manifest:
    """One container for each resource, and one with a claim; with the pod fields they need."""
    image = mirrored(SAMPLE_IMAGE, fleet.spec.addons.images)
    containers: list[Manifest] = []
    pod: Manifest = {}
    for share in pool.partition.shares:
        if share.resource not in pool.advertised:
            continue
        asked = pod_spec(pool, share)
        given = {k: v for k, v in asked["containers"][0].items() if k == "env"}
        kept = ("hostIPC", "securityContext")
        pod |= {name: asked[name] for name in kept if name in asked}
        env = environment(pool, key, RESOURCE=share.resource)
        one = container(f"work-{len(containers)}", image, "work.sh", env)
        one["env"] += given.get("env", [])
        one["resources"] = {"limits": {share.resource: "1"}}
        containers.append(one)
    for claim in acceptance_claims(fleet, pool, NAMESPACE):
        name = claim["metadata"]["name"]
        pod.setdefault("resourceClaims", []).append(
            {"name": name, "resourceClaimTemplateName": name}
        )
        env = environment(pool, key, RESOURCE=name)
        one = container(f"work-{len(containers)}", image, "work.sh", env)
        one["resources"] = {"claims": [{"name": name}]}
        containers.append(one)
    return {"containers": containers, "pod": pod}


def _pair(
    fleet: Fleet,
    pool: Pool,
    tests: Acceptance,
    key: str,
    test: str,
    image: str,
    share: Grant,
) -> Manifest:
    """A Job of two pods on two accepted nodes, each with all GPUs and interfaces of its node."""
    network = rdma_request(pool, fleet.spec, fleet.addons.network_operator)
    spec = pod_spec(pool, share, network.resources, fleet.spec.addons.images)
    name = f"{test}-{pool.name}-{key}"
    env = environment(
        pool,
        key,
        JOB=name,
        TEST=test,
        GPUS=tests.gpus,
        SIZE=tests.message,
        LEAST=tests.between_gbs,
        FORWARD=FORWARD.get(pool.fabric, ""),
    )
    env += data_part("acceptance_pods", "completionIndex")
    main = container("pair", image, "pair.sh", env)
    given = spec["containers"][0]
    main |= {k: v for k, v in given.items() if k not in ("name", "volumeMounts", "env")}
    main["env"] += given.get("env", [])
    main["volumeMounts"] += given.get("volumeMounts", [])
    kubectl = mirrored(KUBECTL_IMAGE, fleet.spec.addons.images)
    copy = container("kubectl", kubectl, "", [], kubectl=True)
    copy["command"] = ["/tools/busybox", "cp", "/bin/kubectl", "/tools/kubectl"]
    labels = {APP: pool.name, **MANAGED_BY}
    pod = {
        **spec,
        "serviceAccountName": ACCOUNT,
        "restartPolicy": "Never",
        "affinity": data_part("acceptance_pods", "apart", name=name),
        "initContainers": [tools(fleet), copy, *spec.get("initContainers", [])],
        "containers": [main, *spec["containers"][1:]],
        "volumes": [*volumes(), *spec.get("volumes", [])],
    }
    about: Manifest = {"labels": labels}
    if notes := {**pod_annotations(pool, fleet.spec.queues), **network.annotations}:
        about["annotations"] = notes
    made = _job(name, pool, {"metadata": about, "spec": pod}, completions=2)
    # It waits for two nodes to be free: an update does not.
    made["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    return made


def _wait(fleet: Fleet, pool: Pool, tests: Acceptance, key: str) -> Manifest:
    """A Job that ends when each node has a verdict."""
    kubectl = mirrored(KUBECTL_IMAGE, fleet.spec.addons.images)
    limit = tests.policy.wait_minutes * 60
    env = environment(pool, key, LIMIT=limit, MINIMUM=pool.nodes.minimum)
    main = container("wait", kubectl, "wait.sh", env, kubectl=True)
    parts = {"tools": tools(fleet), "main": main, "volumes": volumes()}
    pod = data_part("acceptance_pods", "wait", **parts)
    labels = {APP: pool.name, **MANAGED_BY}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return _job(f"wait-{pool.name}-{key}", pool, template)


def _job(name: str, pool: Pool, template: Manifest, completions: int | None = None) -> Manifest:
    mode = None if completions is None else "Indexed"
    spec = data_part(
        "acceptance_pods", "job", template=template, completions=completions, mode=mode
    )
    return manifest("batch/v1", "Job", name, NAMESPACE, {POOL_LABEL: pool.name}, spec=spec)
