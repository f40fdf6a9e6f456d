"""What the API server's code and operators refuse, though no definition says it.

Expected: kubernetes v1.36.3 `pkg/apis/{core,apps,batch}/validation/validation.go`;
sriov-network-operator 0d2faf1 `pkg/webhook/validate.go`; k8s-nim-operator `internal/shared/pvc.go`;
cluster-autoscaler-operator 02bf1e9 `validator.go`, openshift/openshift-docs#85513.
"""

import copy
import re
from typing import Any

import pytest
import yaml

from gpufleet.contract.schemas import schema_problems
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, labels: {team: ml}}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      restartPolicy: Always
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}
      tolerations:
      - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
      - {key: example.com/old, operator: Exists, effect: NoExecute, tolerationSeconds: 9}
      - {operator: Exists}
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
      initContainers: [{name: fetch, image: "fetch:1"}]
      containers:
      - name: server
        image: server:1
        env: [{name: A, value: b}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        ports: [{containerPort: 8000, name: http}, {containerPort: 9000, name: metrics}]
        resources:
          claims: [{name: gpu}]
          limits: {cpu: 4, memory: 8Gi}
          requests: {cpu: 500m, memory: 8Gi}
        livenessProbe: {httpGet: {path: /, port: 8000}, successThreshold: 1}
        volumeMounts: [{name: m, mountPath: /m}, {name: m, mountPath: /n}]
      volumes: [{name: m, emptyDir: {}}, {name: s, emptyDir: {medium: Memory}}]
"""
POD = "spec.template.spec"
CONTAINER = f"{POD}.containers.0"
BROKEN: list[tuple[str, Any, str, str]] = [
    ("metadata.name", "Chat_1", "metadata.name", "the name 'Chat_1' is none"),
    ("metadata.labels.team", "a b", "metadata.labels.team", "the value of team is no label value"),
    (
        "spec.template.metadata.labels.x",
        "a/b",
        "spec.template.metadata.labels.x",
        "the value of x is no label value",
    ),
    (
        f"{POD}.nodeSelector.pool",
        "g p u",
        f"{POD}.nodeSelector.pool",
        "the value of pool is no label",
    ),
    (
        "spec.selector.matchLabels.app",
        "other",
        "spec.selector.matchLabels.app",
        "the selector asks for the label app, which the pods do not have so",
    ),
    (f"{POD}.restartPolicy", "Never", f"{POD}.restartPolicy", "pods of a Deployment have restart"),
    (
        f"{POD}.tolerations.0.value",
        "present",
        f"{POD}.tolerations[0].value",
        "a toleration with `operator: Exists` has a value",
    ),
    (
        f"{POD}.tolerations.2.operator",
        "Equal",
        f"{POD}.tolerations[2]",
        "a toleration without a key needs `operator: Exists`",
    ),
    (
        f"{POD}.tolerations.1.effect",
        "NoSchedule",
        f"{POD}.tolerations[1].tolerationSeconds",
        "tolerationSeconds is of the effect NoExecute alone",
    ),
    (
        f"{POD}.resourceClaims.0",
        {"name": "gpu"},
        f"{POD}.resourceClaims[0]",
        "an entry names neither resourceClaimName nor resourceClaimTemplateName",
    ),
    (
        f"{POD}.resourceClaims.0.resourceClaimName",
        "two",
        f"{POD}.resourceClaims[0]",
        "an entry has resourceClaimName and resourceClaimTemplateName",
    ),
    (
        f"{CONTAINER}.resources.claims.0.name",
        "card",
        f"{CONTAINER}.resources.claims[0].name",
        "no entry of resourceClaims is called card",
    ),
    (f"{POD}.initContainers.0.name", "server", f"{CONTAINER}.name", "name 'server' is there twice"),
    (f"{POD}.volumes.1.name", "m", f"{POD}.volumes[1].name", "name 'm' is there twice"),
    (
        f"{POD}.volumes.1.hostPath",
        {"path": "/s"},
        f"{POD}.volumes[1]",
        "a volume has emptyDir and hostPath",
    ),
    (
        f"{CONTAINER}.volumeMounts.0.name",
        "models",
        f"{CONTAINER}.volumeMounts[0].name",
        "no volume is called models",
    ),
    (
        f"{CONTAINER}.volumeMounts.1.mountPath",
        "/m",
        f"{CONTAINER}.volumeMounts[1].mountPath",
        "mountPath '/m' is there twice",
    ),
    (
        f"{CONTAINER}.env.1.value",
        "x",
        f"{CONTAINER}.env[1]",
        "a variable has value and valueFrom",
    ),
    (
        f"{CONTAINER}.ports.0.name",
        "openai-compatible",
        f"{CONTAINER}.ports[0].name",
        "the name of a port is 'openai-compatible': at most 15",
    ),
    (
        f"{CONTAINER}.ports.1.name",
        "http",
        f"{CONTAINER}.ports[1].name",
        "name 'http' is there twice",
    ),
    (
        f"{CONTAINER}.resources.requests.cpu",
        8,
        f"{CONTAINER}.resources.requests.cpu",
        "the request of cpu (8) is above its limit (4)",
    ),
    (
        f"{CONTAINER}.livenessProbe.successThreshold",
        2,
        f"{CONTAINER}.livenessProbe.successThreshold",
        "successThreshold of a livenessProbe is 2, and only 1 is possible",
    ),
]


def changed(document: Any, path: str, value: object) -> Any:
    """A copy with one value."""
    result = copy.deepcopy(document)
    here, steps = result, path.split(".")
    for step in steps[:-1]:
        here = here[int(step)] if isinstance(here, list) else here[step]
    here[int(steps[-1]) if isinstance(here, list) else steps[-1]] = value
    return result


def shown(path: str) -> str:
    return re.sub(r"\.(\d+)", r"[\1]", path)


def test_a_deployment_that_the_server_takes() -> None:
    assert schema_problems(yaml.safe_load(DEPLOYMENT)) == ()


@pytest.mark.parametrize(("path", "value", "place", "message"), BROKEN)
def test_one_thing_that_the_server_refuses(
    path: str, value: object, place: str, message: str
) -> None:
    (problem,) = schema_problems(changed(yaml.safe_load(DEPLOYMENT), path, value))
    assert problem.path == shown(place)
    assert problem.message.startswith(message)


@pytest.mark.parametrize("name", ["stress-pod-__INDEX__", "NAME", "<name>", "${NAME}-chat"])
def test_names_that_are_filled_in(name: str) -> None:
    assert schema_problems(changed(yaml.safe_load(DEPLOYMENT), "metadata.name", name)) == ()


def test_a_patch_keeps_what_it_leaves_out() -> None:
    patch = changed(yaml.safe_load(DEPLOYMENT), f"{CONTAINER}.volumeMounts.0.name", "of-the-base")
    del patch["spec"]["template"]["spec"]["containers"][0]["image"]
    assert schema_problems(patch) == ()


@pytest.mark.parametrize(
    ("kind", "policy", "refused"),
    [
        ("Job", "Always", True),
        ("Job", "OnFailure", False),
        ("StatefulSet", "OnFailure", True),
        ("Pod", "Never", False),
    ],
)
def test_restart_policies_of_other_makers(kind: str, policy: str, refused: bool) -> None:
    whole = yaml.safe_load(DEPLOYMENT)
    template = whole["spec"]["template"]
    template["spec"]["restartPolicy"] = policy
    whole["kind"], whole["apiVersion"] = kind, "batch/v1" if kind == "Job" else "apps/v1"
    if kind == "Job":
        del whole["spec"]["selector"]
    if kind == "StatefulSet":
        claim = {"metadata": {"name": "models"}, "spec": {}}
        whole["spec"] |= {"serviceName": "chat", "volumeClaimTemplates": [claim]}
        template["spec"]["containers"][0]["volumeMounts"][0]["name"] = "models"
    if kind == "Pod":
        whole = {**template, "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "chat"}}
    assert [one.message[:7] for one in schema_problems(whole)] == ["pods of"] * refused


def test_pods_that_other_makers_write(tmp_path: Any) -> None:
    """And what another program fills in is not refused."""
    text = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: chat}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        tolerations: [{key: nvidia.com/gpu, operator: Exists, value: %s}]
        containers: [{name: a, image: "a:1"}]
"""
    for value, rules in (("present", ["object-value-invalid"]), ("${TAINT}", [])):
        file = tmp_path / "lws.yaml"
        file.write_text(text % value)
        found = audit(find_inputs([str(file)]), read_settings({}), TODAY).findings
        assert [one.code for one in found] == rules


POLICY = """
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: gpu-nics, namespace: sriov}
spec:
  resourceName: gpu_nics
  nodeSelector: {pool: gpu}
  numVfs: 1
  nicSelector: {vendor: 15b3}
  deviceType: netdevice
  eSwitchMode: legacy
  linkType: ib
  isRdma: true
"""
CACHE = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMCache
metadata: {name: llm}
spec:
  source: {ngc: {modelPuller: "nvcr.io/nim/meta/llama:1", pullSecret: s, authSecret: a}}
  storage: {pvc: {create: true, size: 50Gi, volumeAccessMode: ReadWriteOnce}}
"""


@pytest.mark.parametrize(
    ("text", "path", "value", "message"),
    [
        (POLICY, "spec.resourceName", "nvidia.com/gpu-nics", "resourceName is 'nvidia.com/gpu-n"),
        (POLICY, "spec.nicSelector", {}, "nicSelector has none of vendor, deviceID, pfNames"),
        (POLICY, "spec.deviceType", "vfio-pci", "deviceType vfio-pci and isRdma true exclude"),
        (POLICY, "spec.eSwitchMode", "switchdev", "eSwitchMode switchdev is of Ethernet links"),
        (CACHE, "spec.storage.pvc.size", "model-size", "size is 'model-size', a quantity such as"),
    ],
)
def test_what_operators_refuse(text: str, path: str, value: object, message: str) -> None:
    assert schema_problems(yaml.safe_load(text)) == ()
    (problem,) = schema_problems(changed(yaml.safe_load(text), path, value))
    assert problem.path == shown(path)
    assert problem.message.startswith(message)
