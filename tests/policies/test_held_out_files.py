"""Results of thirty-five public repositories: wrong sums, groups and queues, and missed waste, in
several spellings each."""

from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write
from tests.policies.test_false_errors import codes, job

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shell, namespace: ml}
spec:
  restartPolicy: RESTARTS
  containers:
    - name: cuda
      image: nvidia/cuda:12.4.1-base-ubuntu22.04
      command: COMMAND
      resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(
    ("restarts", "command", "whole_month"),
    [
        ("Never", '[sleep, "3600"]', False),
        ("OnFailure", '[sh, -c, "nvidia-smi && sleep 7200"]', False),
        ("Never", '[sh, -c, "sleep 2h"]', False),
        ("Always", '[sleep, "3600"]', True),
        ("Never", "[sleep, infinity]", True),
        ("Never", "[tail, -f, /dev/null]", True),
    ],
)
def test_a_sleep_that_ends_wastes_no_whole_month(
    tmp_path: Path, restarts: str, command: str, whole_month: bool
) -> None:
    text = POD.replace("RESTARTS", restarts).replace("COMMAND", command)
    write(tmp_path, {"a.yaml": text})
    found = {one["code"]: one for one in audit(tmp_path)["findings"]}["gpu-idle-command"]
    assert ("730 GPU-hours per month" in found["text"]) is whole_month
    assert ("for each hour it runs" in found["text"]) is not whole_month


LWS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: large, namespace: ml}
spec:
  replicas: REPLICAS
  leaderWorkerTemplate:
    size: SIZE
    LEADER
    workerTemplate:
      spec:
        containers:
          - name: s
            image: vllm/vllm-openai:v0.11.0
            command: [vllm, serve, acme/chat]
            resources: {limits: {nvidia.com/gpu: 8}}
"""
_LEADER = (
    "leaderTemplate: {spec: {containers: [{name: s, image: 'vllm/vllm-openai:v0.11.0', RES}]}}"
)
_HOLDS = "resources: {limits: {nvidia.com/gpu: 8}}"


@pytest.mark.parametrize(
    ("replicas", "size", "leader", "said"),
    [
        (2, 8, _LEADER.replace("RES", _HOLDS), ["2 replicas at all times"]),
        (2, 8, "", ["2 replicas at all times"]),
        (3, 2, _LEADER.replace("RES", "args: [x]"), ["3 replicas at all times"]),
        (1, 8, _LEADER.replace("RES", _HOLDS), []),
        (4, 1, "", ["4 replicas at all times"]),
        (8, 8, _LEADER.replace("RES", _HOLDS), ["8 replicas at all times"]),
    ],
)
def test_a_group_of_leader_and_workers_is_one_replica(
    tmp_path: Path, replicas: int, size: int, leader: str, said: list[str]
) -> None:
    text = LWS.replace("REPLICAS", str(replicas)).replace("SIZE", str(size))
    write(tmp_path, {"a.yaml": text.replace("LEADER", leader)})
    found = [
        f
        for f in audit(tmp_path, "--profile", "prod")["findings"]
        if f["code"] == "gpu-serving-without-autoscaler"
    ]
    assert [one["message"].partition(";")[0] for one in found] == said


KUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: own, labels: {environment: prod}}
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
    - coveredResources: [cpu, memory]
      flavors:
      - name: g
        resources: [{name: cpu, nominalQuota: 99}, {name: memory, nominalQuota: 1Ti}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: ml}
spec: {clusterQueue: own}
---
"""


@pytest.mark.parametrize(
    ("cohort", "stranded"),
    [
        ("cohortName: all", False),
        ("cohort: all", False),
        ("cohortName: all\n  fairSharing: {weight: 1}", False),
        ('cohortName: "$COHORT"', False),
        ("cohortName: other", False),
        ("stopPolicy: None", True),
    ],
)
def test_a_queue_of_a_cohort_lends_without_a_local_queue(
    tmp_path: Path, cohort: str, stranded: bool
) -> None:
    shared = KUEUE.partition("---")[0].replace("own", "shared").replace("cohortName: all", cohort)
    write(tmp_path, {"a.yaml": KUEUE + shared})
    found = {
        one["object"] for one in audit(tmp_path)["findings"] if one["code"] == "quota-stranded"
    }
    assert found == ({"ClusterQueue shared"} if stranded else set())


@pytest.mark.parametrize(
    ("resources", "queue", "never"),
    [
        ("nvidia.com/gpu: 4", "lq", False),
        ("nvidia.com/mig-1g.10gb: 1", "lq", True),
        ("nvidia.com/gpu.shared: 1", "lq", True),
        ("nvidia.com/mig-1g.10gb: 1", "elsewhere", False),
        ('"${RESOURCE}": 1', "lq", False),
    ],
)
def test_a_queue_never_admits_what_it_does_not_cover(
    tmp_path: Path, resources: str, queue: str, never: bool
) -> None:
    named = job(resources=resources).replace(
        "{name: j,", f"{{labels: {{{QUEUE}: {queue}}}, name: j,"
    )
    write(tmp_path, {"queues/a.yaml": KUEUE, "jobs/a.yaml": named})
    found = {one["code"] for one in audit(tmp_path)["findings"]}
    assert ("gpu-quota-never-admits" in found) is never


QUEUE = "kueue.x-k8s.io/queue-name"


@pytest.mark.parametrize(
    ("value", "hidden"),
    [('"-1"', True), ('""', True), ('"0"', False), ('"0,1"', False), ("GPU-8932f937", False)],
)
def test_a_program_that_sees_no_gpu_needs_none(tmp_path: Path, value: str, hidden: bool) -> None:
    text = job().replace(
        "image:", f"env: [{{name: CUDA_VISIBLE_DEVICES, value: {value}}}]\n          image:"
    )
    assert ("gpu-for-other-program" in codes(tmp_path, text, "prod")) is hidden


@pytest.mark.parametrize(
    ("share", "fits"),
    [("0.90", False), ("0.99", False), ("1.0", True), ("$(SHARE)", True), ("", False)],
)
def test_the_weights_have_the_part_that_the_server_takes(
    tmp_path: Path, share: str, fits: bool
) -> None:
    server = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: ml}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-tesla-t4}
      containers:
        - name: s
          image: vllm/vllm-openai:v0.11.0
          args: [--model=meta-llama/Llama-3.1-8B-Instruct, SHARE]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
    said = "--max-model-len=16, "
    said += f'"--gpu-memory-utilization={share}"' if share else "--port=8000"
    found = codes(tmp_path, server.replace("SHARE", said), "prod")
    assert ("model-exceeds-gpu-memory" in found) is not fits


@pytest.mark.parametrize(("wait", "usd"), [("2h", 24), ("24h", 563), ("72h", 563), ("Never", None)])
def test_a_node_wastes_no_more_than_its_month(tmp_path: Path, wait: str, usd: int | None) -> None:
    pool = f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: gpu}}
spec:
  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: {wait}}}
  limits: {{nvidia.com/gpu: 8}}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}}
      requirements:
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [g6.xlarge]}}
"""
    write(tmp_path, {"a.yaml": pool})
    found = [f for f in audit(tmp_path)["findings"] if f["code"] == "karpenter-consolidates-slowly"]
    # g6.xlarge is 0.8048 USD/h (AWS, us-east-1): 730 h / 24 h x the hours above one.
    assert [one["evidence"]["usd_per_month"] for one in found] == ([] if usd is None else [usd])


@pytest.mark.parametrize(
    ("name", "misspelt"),
    [
        ("nvidia.com/gpus", True),
        ("nvidia.com/GPU", True),
        ("nvidia/gpu", True),
        ("nvidia.com.gpu", True),
        ("NVIDIA.com/gpu", True),
        ("nvidia.com/gpumem", False),
        ("nvidia.com/gpucores", False),
        ("nvidia.com/gpu.shared", False),
        ("nvidia.com/pgpu", False),
        ("amd.com/gpu", False),
    ],
)
def test_a_name_that_nothing_publishes(tmp_path: Path, name: str, misspelt: bool) -> None:
    found = codes(tmp_path, job(resources=f"{name}: 1"), "prod")
    assert ("gpu-toleration-misspelt" in found) is misspelt


@pytest.mark.parametrize(
    ("hard", "gpus", "found"),
    [
        ("requests.nvidia.com/gpu: 1", 2, True),
        ('requests.nvidia.com/gpu: "1"', 1, False),
        ("requests.nvidia.com/gpu: 8", 8, False),
        ("requests.nvidia.com/gpu: 4", 8, True),
        ("requests.cpu: 4", 8, False),
    ],
)
def test_a_quota_of_another_folder_is_of_its_namespace(
    tmp_path: Path, hard: str, gpus: int, found: bool
) -> None:
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: ml}\n"
    quota += f"spec: {{hard: {{{hard}}}}}\n"
    text = job(resources=f"nvidia.com/gpu: {gpus}")
    write(tmp_path, {"namespaces/a.yaml": quota, "jobs/a.yaml": text})
    rows = [f for f in audit(tmp_path)["findings"] if f["code"] == "gpu-quota-never-admits"]
    assert [one["level"] for one in rows] == (["advisory"] if found else [])


@pytest.mark.parametrize(
    ("layout", "unfit"),
    [
        ('"1g.5gb": 9', True),
        ('"3g.40gb": 3', True),
        ('"7g.80gb": 2', True),
        ('"1g.5gb": 7', False),
        ('"3g.40gb": 1, "1g.10gb": 4', False),
    ],
)
def test_a_layout_that_no_gpu_holds_is_wrong_though_the_default_is_another(
    tmp_path: Path, layout: str, unfit: bool
) -> None:
    layouts = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: own, namespace: gpu-operator}}
data:
  config.yaml: |
    version: v1
    mig-configs:
      all-disabled: [{{devices: all, mig-enabled: false}}]
      own: [{{devices: all, mig-enabled: true, mig-devices: {{{layout}}}}}]
"""
    values = "# gpu-operator\nmig: {strategy: mixed}\nmigManager: {config: {name: own}}\n"
    write(tmp_path, {"own.yaml": layouts, "gpu-operator-values.yaml": values})
    found = {one["code"] for one in audit(tmp_path)["findings"]}
    assert ("mig-layout-nowhere" in found) is unfit


MIXED_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {pool: gpu}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [TYPES]}
  limits: {nvidia.com/gpu: "8"}
"""
SCALED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: server, namespace: ml}
spec:
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      nodeSelector: {pool: gpu}
      containers:
        - {name: server, image: example.org/server:1, resources: {limits: {nvidia.com/gpu: 1}}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: server, namespace: ml}
spec:
  scaleTargetRef: {name: server}
  maxReplicaCount: MAXIMUM
  triggers:
    - {type: prometheus, metadata: {serverAddress: "http://p", query: waiting, threshold: "1"}}
"""


@pytest.mark.parametrize(
    ("types", "maximum", "found"),
    [
        ("g4dn.xlarge, g5.xlarge, g6.xlarge", 10, True),
        ("g5.xlarge, g5.2xlarge, g4dn.2xlarge", 9, True),
        ("g4dn.xlarge, g5.xlarge, g6.xlarge", 8, False),
        ("g5.xlarge, p4d.24xlarge", 10, False),
        ("g4dn.xlarge, g5.xlarge, g99.xlarge", 10, False),
    ],
)
def test_a_pool_of_several_gpus_none_of_which_can_be_cut_holds_so_many(
    tmp_path: Path, types: str, maximum: int, found: bool
) -> None:
    server = SCALED.replace("MAXIMUM", str(maximum))
    write(tmp_path, {"pool.yaml": MIXED_POOL.replace("TYPES", types), "server.yaml": server})
    codes_found = {one["code"] for one in audit(tmp_path)["findings"]}
    assert ("gpu-autoscaler-exceeds-pool" in codes_found) is found
