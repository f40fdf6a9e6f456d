"""Objects of the tests of nodes before work, which run on each node that has not passed.

A DaemonSet of each pool runs on the nodes without the label of the tests' key: a node that passed
then has neither the pod nor the taint. Sources of images and arguments: NVIDIA GPU Operator
documentation, cuda-sample; NVIDIA DCGM user guide; NVIDIA/aicr 6f68935
`validators/performance/testdata/h100/eks/runtime.yaml` (nccl-tests); cloud-native-docs
`gpu-operator-rdma.rst` (ib_write_bw); kubeflow/mpi-operator v1 (`kubectl exec` as remote shell).
"""

from collections.abc import Iterator

from gpufleet.contract.dra import driver_root
from gpufleet.contract.owners import Owner
from gpufleet.fleet.acceptance import ACCEPTED_LABEL, Acceptance, acceptance_of
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.manifest import MANAGED_BY, Manifest, manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.rdma_request import rdma_request
from gpufleet.partition.grant import Grant
from gpufleet.render.acceptance_pods import (
    ACCOUNT,
    APP,
    DCGM_IMAGE,
    KUBECTL_IMAGE,
    NAMESPACE,
    NCCL_IMAGE,
    SAMPLE_IMAGE,
    container,
    environment,
    scripts,
    scripts_name,
    tools,
    volumes,
)
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.data_files import OBJECTS, data_file
from gpufleet.render.dra import acceptance_claims
from gpufleet.render.pod_request import pod_annotations, pod_spec
from gpufleet.spec.pool import Fabric

_file = files_in(__file__)

NVSENTINEL_STATE = "dgxc.nvidia.com/nvsentinel-state"
"""Node label while NVSentinel has a node out of service (NVIDIA/NVSentinel
`commons/pkg/statemanager`): such a node is tested again before it returns."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - of the container
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
    """A container that sees every GPU of the node without requesting one, as NVIDIA's DCGM does."""
    seen = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    env = [*one["env"], *({"name": k, "value": v} for k, v in seen.items())]
    mounts = [*one["volumeMounts"], {"name": "dshm", "mountPath": SHARED_MEMORY}]
    if _own_driver(pool) is not None:
        mounts.append({"name": "driver", "mountPath": "/usr/local/nvidia", "readOnly": True})
    secured = {"privileged": True, "runAsUser": 0}
    return {**one, "env": env, "volumeMounts": mounts, "securityContext": secured}


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
    gate["readinessProbe"] = {
        "exec": {"command": ["/tools/busybox", "test", "-f", "/results/verdict"]}
    }
    mounted = [*volumes(), {"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    if (root := _own_driver(pool)) is not None:
        mounted.append({"name": "driver", "hostPath": {"path": root}})
    pod: Manifest = {
        "serviceAccountName": ACCOUNT,
        "priorityClassName": NAMESPACE,
        "terminationGracePeriodSeconds": 5,
        "affinity": {"nodeAffinity": _affinity(pool, key)},
        "tolerations": [{"operator": "Exists"}],
        "initContainers": [
            tools(fleet),
            container("hold", kubectl, "hold.sh", holding, kubectl=True),
            *(_sees_all(pool, one) for one in _gpu_tests(fleet, pool, tests, key)),
            *shares["containers"],
        ],
        "containers": [gate],
        "volumes": mounted,
        **shares["pod"],
    }
    if pool.owners.toolkit is Owner.GPU_OPERATOR:
        pod["runtimeClassName"] = "nvidia"
    spec = {
        "selector": {"matchLabels": {APP: pool.name}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {"metadata": {"labels": {APP: pool.name, **MANAGED_BY}}, "spec": pod},
    }
    name, labels = f"acceptance-{pool.name}", {POOL_LABEL: pool.name}
    made = manifest("apps/v1", "DaemonSet", name, NAMESPACE, labels, spec=spec)
    # The wait is a Job's, so that a node without a verdict does not end an update.
    made["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    return made


def _affinity(pool: Pool, key: str) -> Manifest:
    """Nodes of the pool that have not passed, and nodes that NVSentinel has quarantined."""
    ours = {"key": POOL_LABEL, "operator": "In", "values": [pool.name]}
    new = {"key": ACCEPTED_LABEL, "operator": "NotIn", "values": [key]}
    sick = {"key": NVSENTINEL_STATE, "operator": "Exists"}
    terms = [{"matchExpressions": [ours, one]} for one in (new, sick)]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


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
    index = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    env.append({"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": index}}})
    main = container("pair", image, "pair.sh", env)
    given = spec["containers"][0]
    main |= {k: v for k, v in given.items() if k not in ("name", "volumeMounts", "env")}
    main["env"] += given.get("env", [])
    main["volumeMounts"] += given.get("volumeMounts", [])
    kubectl = mirrored(KUBECTL_IMAGE, fleet.spec.addons.images)
    copy = container("kubectl", kubectl, "", [], kubectl=True)
    copy["command"] = ["/tools/busybox", "cp", "/bin/kubectl", "/tools/kubectl"]
    labels = {APP: pool.name, **MANAGED_BY}
    apart = {"labelSelector": {"matchLabels": {"job-name": name}}}
    pod = {
        **spec,
        "serviceAccountName": ACCOUNT,
        "restartPolicy": "Never",
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {**apart, "topologyKey": "kubernetes.io/hostname"}
                ]
            }
        },
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
    pod = {
        "serviceAccountName": ACCOUNT,
        "restartPolicy": "Never",
        "initContainers": [tools(fleet)],
        "containers": [container("wait", kubectl, "wait.sh", env, kubectl=True)],
        "volumes": volumes(),
    }
    labels = {APP: pool.name, **MANAGED_BY}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return _job(f"wait-{pool.name}-{key}", pool, template)


def _job(name: str, pool: Pool, template: Manifest, completions: int = 1) -> Manifest:
    # A node that is drained or replaced meanwhile does not count as a failed try.
    drained = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec: Manifest = {
        "backoffLimit": 3,
        "podFailurePolicy": {"rules": [drained]},
        "template": template,
    }
    if completions > 1:
        spec |= {"completions": completions, "parallelism": completions}
        spec["completionMode"] = "Indexed"
    return manifest("batch/v1", "Job", name, NAMESPACE, {POOL_LABEL: pool.name}, spec=spec)
