"""Pairs of objects whose relation is legal, each beside one that is not: budgets of several
workloads, pods that no scheduler places, sidecars that others add, nodes that are played."""

from pathlib import Path

import pytest

from gpufleet_policies.rules.pair_conditions import HOLDS
from gpufleet_policies.rules.written import rule_rows
from tests.policies.test_false_errors import codes

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME, part: LLM}}
    spec:
      containers:
        - {name: s, image: "vllm/vllm-openai:v0.11.0", resources: {limits: {nvidia.com/gpu: 1}}}
---
"""
BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: ml}
spec: {AMOUNT, selector: {SELECTOR}}
"""
ALL, CHAT = "matchLabels: {part: LLM}", "matchLabels: {app: chat}"
EXPRESSION = "matchExpressions: [{{key: app, operator: {}}}]"


def servers(*names: str) -> str:
    return "".join(SERVER.replace("NAME", name) for name in names)


@pytest.mark.parametrize(
    ("amount", "selector", "names", "found"),
    [  # Kubernetes, Specifying a Disruption Budget: percentages of pods are rounded up
        ("minAvailable: 1", ALL, ("chat",), True),
        ("minAvailable: 1", ALL, ("chat", "embed"), False),
        ("minAvailable: 1", CHAT, ("chat", "embed"), True),
        ("minAvailable: 2", CHAT, ("chat",), True),
        ("minAvailable: 0", CHAT, ("chat",), False),
        ("minAvailable: 50%", CHAT, ("chat",), True),
        ("minAvailable: 50%", ALL, ("chat", "embed"), False),
        ("minAvailable: 100%", ALL, ("chat", "embed"), True),
        ("maxUnavailable: 0", ALL, ("chat", "embed"), True),
        ("maxUnavailable: 50%", CHAT, ("chat",), False),
        ("minAvailable: 1", EXPRESSION.format("In, values: [chat]"), ("chat",), True),
        ("minAvailable: 1", EXPRESSION.format("NotIn, values: [chat]"), ("chat",), False),
        ("maxUnavailable: 0", f"{ALL}, {EXPRESSION.format('DoesNotExist')}", ("chat",), False),
    ],
)
def test_a_budget_counts_the_pods_of_all_that_it_selects(
    amount: str, selector: str, names: tuple[str, ...], found: bool, tmp_path: Path
):
    budget = BUDGET.replace("AMOUNT", amount).replace("SELECTOR", selector)
    said = codes(tmp_path, servers(*names) + budget, "dev")
    assert ("budget-blocks-every-drain" in said) is found


NODE = """\
apiVersion: v1
kind: Node
metadata: {name: NODE, labels: {nvidia.com/gpu.present: "true", LABELS}, annotations: {NOTES}}
spec: {taints: [{key: KEY, effect: NoSchedule}]}
status: {allocatable: {nvidia.com/gpu: "8"}}
---
"""


def node(key: str, name: str = "gpu-0", labels: str = "", notes: str = "") -> str:
    text = NODE.replace("KEY", key).replace("NODE", name)
    return text.replace("LABELS", labels).replace("NOTES", notes)


PODS = """\
apiVersion: apps/v1
kind: KIND
metadata: {name: p, namespace: ml}
spec:
  selector: {matchLabels: {app: p}}
  template:
    metadata: {labels: {app: p}}
    spec:
      nodeSelector: {nvidia.com/gpu.present: "true"}
      PLACED
      containers: [{name: c, image: "x:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.mark.parametrize(
    ("kind", "key", "placed", "found"),
    [  # Kubernetes, Taints and Tolerations; DaemonSet, Taints and tolerations
        ("Deployment", "team", "", True),
        ("Deployment", "team", "nodeName: gpu-0", False),
        ("Deployment", "node.kubernetes.io/unschedulable", "", False),
        ("Deployment", "node.kubernetes.io/not-ready", "", False),
        ("DaemonSet", "team", "", True),
        ("DaemonSet", "node.kubernetes.io/unschedulable", "", False),
        ("DaemonSet", "node.kubernetes.io/disk-pressure", "", False),
    ],
)
def test_taints_concern_pods_that_a_scheduler_places(
    kind: str, key: str, placed: str, found: bool, tmp_path: Path
):
    pods = PODS.replace("KIND", kind).replace("PLACED", placed)
    said = codes(tmp_path, node(key) + pods, "dev")
    assert ("pods-repelled-by-chosen-nodes" in said) is found


PORTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: ml}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat, MARKS}, annotations: {NOTES}}
    spec: {containers: [{name: s, image: "x:1", ports: [{name: http, containerPort: 8000}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: ml}
spec: {selector: {app: chat}, ports: [{port: 80, targetPort: http-envoy-prom}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {SPACE}, annotations: {OF_SPACE}}
"""


@pytest.mark.parametrize(
    ("notes", "space", "of_space", "found"),
    [
        ("", "", "", True),
        ('sidecar.istio.io/inject: "true"', "", "", False),
        ('sidecar.istio.io/inject: "false"', "", "", True),
        ("MARK", "", "", False),
        ("linkerd.io/inject: enabled", "", "", False),
        ("linkerd.io/inject: disabled", "", "", True),
        ("sidecar.opentelemetry.io/inject: gateway", "", "", False),
        ("", "istio-injection: enabled", "", False),
        ("", "", "linkerd.io/inject: enabled", False),
        ("", "team: a", "", True),
    ],
)
def test_ports_of_sidecars_that_others_add_are_not_written(
    notes: str, space: str, of_space: str, found: bool, tmp_path: Path
):
    marks = 'sidecar.istio.io/inject: "true"' if notes == "MARK" else ""
    text = PORTS.replace("MARKS", marks).replace("NOTES", "" if marks else notes)
    text = text.replace("OF_SPACE", of_space).replace("SPACE", space)
    assert ("port-name-absent" in codes(tmp_path, text, "dev")) is found


PROBE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: ml}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}, annotations: {NOTES}}
    spec:
      containers:
        - name: s
          image: vllm/vllm-openai:v0.11.0
          args: [--model, a/b, --port, "8000"]
          readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}}
          resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(("notes", "found"), [("", True), ("linkerd.io/inject: enabled", False)])
def test_a_probe_may_ask_a_sidecar_that_another_program_adds(
    notes: str, found: bool, tmp_path: Path
):
    said = codes(tmp_path, PROBE.replace("NOTES", notes), "dev")
    assert ("triton-probe-of-other-port" in said) is found


WORK = """\
apiVersion: batch/v1
kind: Job
metadata: {name: w, namespace: ml}
spec:
  parallelism: 4
  completions: 4
  MODE
  template:
    spec:
      restartPolicy: Never
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: "x:1", resources: {limits: {nvidia.com/gpu: GPUS}}}]
"""


@pytest.mark.parametrize(
    ("mode", "gpus", "found"),
    [  # Kubernetes, Jobs: parallel execution
        ("", 4, False),
        ("", 16, True),
        ("completionMode: Indexed", 4, True),
    ],
)
def test_pods_of_a_job_may_run_one_after_another(mode: str, gpus: int, found: bool, tmp_path: Path):
    work = WORK.replace("MODE", mode).replace("GPUS", str(gpus))
    assert ("pods-exceed-nodes" in codes(tmp_path, node("team") + work, "dev")) is found


@pytest.mark.parametrize(
    ("labels", "notes", "found"),
    [  # kwok.sigs.k8s.io, Manage Nodes and Pods
        ("", "", False),
        ("type: kwok", "", True),
        ("", "kwok.x-k8s.io/node: fake", True),
    ],
)
def test_nodes_that_kwok_plays_have_no_gpus(labels: str, notes: str, found: bool, tmp_path: Path):
    work = WORK.replace("MODE", "").replace("GPUS", "16")
    played = "".join(node("t", f"n{i}", labels, notes) for i in range(2)).replace('"8"', '"16"')
    text = node("team") + played + work
    assert ("pods-exceed-nodes" in codes(tmp_path, text, "dev")) is found


PLUGIN = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: p, namespace: kube-system}
spec:
  selector: {matchLabels: {app: p}}
  template:
    metadata: {labels: {app: p}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - name: p
          image: nvcr.io/nvidia/k8s-device-plugin:v0.17.1
          volumeMounts: [{name: v, mountPath: PATH}]
      volumes: [{name: v, hostPath: {path: PATH}}]
"""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        *((path, False) for path in ("/", "/var", "/var/lib", "/var/lib/", "/var/lib/kubelet")),
        ("/var/lib/kubelet/device-plugins", False),
        ("/var/lib/docker", True),
        ("/var/log", True),
    ],
)
def test_a_parent_of_the_folder_of_device_plugins_holds_it(path: str, found: bool, tmp_path: Path):
    said = codes(tmp_path, PLUGIN.replace("PATH", path), "dev")
    assert ("device-plugin-without-socket" in said) is found


GROUPS = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 16}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: team, namespace: ml}
spec: {clusterQueue: all}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: l, namespace: ml, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  replicas: REPLICAS
  leaderWorkerTemplate:
    size: SIZE
    LEADER
    workerTemplate:
      spec: {containers: [{name: w, image: "x:1", resources: {limits: {nvidia.com/gpu: 8}}}]}
"""
LEADER = "leaderTemplate: {spec: {containers: [{name: l, image: 'x:1'}]}}"


@pytest.mark.parametrize(
    ("replicas", "size", "leader", "found"),
    [  # Kueue documentation, Run LeaderWorkerSet: each group is admitted as one Workload
        (1, 2, "", False),
        (4, 2, "", False),
        (1, 3, "", True),
        (1, 3, LEADER, False),
        (1, 4, LEADER, True),
    ],
)
def test_a_group_of_a_leader_and_workers_is_admitted_whole(
    replicas: int, size: int, leader: str, found: bool, tmp_path: Path
):
    text = GROUPS.replace("REPLICAS", str(replicas)).replace("SIZE", str(size))
    said = codes(tmp_path, text.replace("LEADER", leader), "dev")
    assert ("gpu-quota-never-admits" in said) is found


def test_all_pairs_of_a_rule_report_one_sort_of_subject() -> None:
    """A rule is asked of the subjects of its first pair: another sort would never be reported."""
    sorts = {"Container": "workload", "Pods": "workload"} | {
        kind: kind for kind in ("Program", "Pool", "Nodes")
    }
    for name, row in rule_rows().items():
        reported = {sorts.get(pair["at"]["kind"], "object") for pair in row.get("pairs", ())}
        assert len(reported) <= 1, name


@pytest.mark.parametrize("test", ["less", "more", "least"])
def test_what_is_not_a_quantity_is_not_compared(test: str) -> None:
    assert not HOLDS[test]("{{ seconds }}", 30)
    assert not HOLDS[test](30, "as long as needed")
