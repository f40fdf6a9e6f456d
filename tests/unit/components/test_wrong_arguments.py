"""Any value for any argument: each component is made, or refuses in the names of its arguments."""

import copy
import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any

import pulumi
import pytest

import gpufleet
from gpufleet.components_base.inputs import InvalidArgumentsError, to_camel
from gpufleet.components_base.refused_arguments import in_own_words
from gpufleet.findings import Severity, error
from tests.unit.components.openshift_pools import CHAT
from tests.unit.components.valid_arguments import POOL, SMALL, VALID

VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "number": lambda: 7,
    "fraction": lambda: 1.5,
    "bytes": lambda: b"x",
    "list": lambda: ["x"],
    "mapping": lambda: {"a": "b"},
    "mapping of numbers": lambda: {1: 2},
    "object": object,
    "output": lambda: pulumi.Output.from_input("x"),
    "output of none": lambda: pulumi.Output.from_input(None),
    "output of a list": lambda: pulumi.Output.from_input(["x"]),
    "secret": lambda: pulumi.Output.secret("hunter2"),
    "list of none": lambda: [None],
    "list of outputs": lambda: [pulumi.Output.from_input("x")],
    "mapping of outputs": lambda: {"a": pulumi.Output.from_input("x")},
}


def argument_names(component: str) -> list[str]:
    annotations = inspect.get_annotations(getattr(gpufleet, component).__init__)
    return list(inspect.get_annotations(annotations["args"]))


def refusal(program: Callable[[], Any]) -> InvalidArgumentsError | None:
    try:
        program()
    except InvalidArgumentsError as refused:
        return refused
    return None


def test_each_public_component_has_valid_arguments() -> None:
    kinds = {name: getattr(gpufleet, name) for name in gpufleet.__all__}
    assert set(VALID) == {
        name for name, kind in kinds.items() if issubclass(kind, pulumi.ComponentResource)
    }


QUICK = ("number", "list", "mapping of numbers", "output of none")


@pytest.mark.parametrize("component", VALID)
def test_a_few_values_are_no_traceback(run: Any, component: str) -> None:
    refuses_or_makes(run, component, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("component", VALID)
def test_no_value_of_an_argument_is_a_traceback(run: Any, component: str) -> None:
    run(lambda: getattr(gpufleet, component)("one", copy.deepcopy(VALID[component])))
    refuses_or_makes(run, component, VALUES)


def refuses_or_makes(run: Any, component: str, values: Iterable[str]) -> None:
    kind, names = getattr(gpufleet, component), argument_names(component)
    own = {to_camel(name) for name in names}
    for name in names:
        for said in values:
            given = {**copy.deepcopy(VALID[component]), name: VALUES[said]()}
            refused = refusal(lambda given=given: run(lambda: kind("one", given)))
            if refused is None:
                continue
            assert "hunter2" not in str(refused), (name, said)
            for found in refused.findings:
                if found.severity is Severity.ERROR and (component, name) != ("GpuFleet", "spec"):
                    begins = found.path.split(".")[0].split("[")[0].split(" ")[0]
                    assert begins in own, (name, said, str(found))


EKS = ("EksGpuNodeGroup", "KarpenterGpuNodePool")
WRONG = [
    *((one, {"pool": {**POOL, "gpu": "L44"}}, "pool.gpu") for one in EKS),
    ("EksGpuNodeGroup", {"region": ""}, "region"),
    ("EksGpuNodeGroup", {"kubernetes_version": "1"}, "kubernetesVersion"),
    ("EksGpuNodeGroup", {"pool": {**POOL, "provisioner": "karpenter"}}, "pool.provisioner"),
    ("EksGpuNodeGroup", {"pool": {**POOL, "ownership": "existing"}}, "pool.ownership"),
    ("GkeGpuNodePool", {"pool": {**POOL, "gpu": "L44"}}, "pool.gpu"),
    ("VsphereGpuNodeGroup", {"pool": {**POOL, "gpu": "L44"}}, "pool.gpu"),
    ("SimulatedGpuNodePool", {"pool": {**SMALL, "gpu": "L44"}}, "pool.gpu"),
    ("OpenShiftGpuMachineSet", {"pool": {**POOL, "gpu": "L44"}}, "pool.gpu"),
    ("OpenShiftClusterAutoscaler", {"settings": {"expander": "priority"}}, "settings.expander"),
    ("ClusterAutoscaler", {"kubernetes_version": "1.20"}, "settings.values.image.tag"),
    ("GpuAddons", {"region": None}, "region"),
    ("KueueQueues", {"kubernetes_version": "1"}, "kubernetesVersion"),
    ("NimService", {"nim": {**VALID["NimService"]["nim"], "tag": "latest"}}, "nim.tag"),
    (
        "GpuScaledObject",
        {
            "scaling": {
                **VALID["GpuScaledObject"]["scaling"],
                "on": [{"signal": "queueLength", "target": 5}],
            }
        },
        "scaling.on[0].query",
    ),
    ("EksCluster", {"log_types": ["everything"]}, "logTypes[0]"),
    ("GkeCluster", {"release_channel": "FAST"}, "releaseChannel"),
    ("GkeCluster", {"cidr": "10.0.0.0"}, "cidr"),
    ("OlmOperator", {"version": "26"}, "version"),
    ("Keda", {"version": "latest"}, "version"),
]


@pytest.mark.parametrize(("component", "changed", "path"), WRONG)
def test_an_error_names_the_argument(component: str, changed: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        getattr(gpufleet, component)("one", {**VALID[component], **changed})
    errors = [one for one in refused.value.findings if one.severity is Severity.ERROR]
    assert [one.path for one in errors] == [path]
    assert not any("pools[0]" in str(one) or "cluster." in str(one) for one in errors)


ALIGNED = {"kubelet": {"topologyManager": "singleNumaNode"}}
"""Without `cpuManager`, of which compile warns."""
UNFINISHED = {"sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 3, "3g.40gb": 1}}]}}}
WARNED: dict[str, tuple[dict[str, Any], str]] = {
    "EksGpuNodeGroup": (ALIGNED, "kubelet.topologyManager"),
    "GkeGpuNodePool": (ALIGNED, "kubelet.topologyManager"),
    "KarpenterGpuNodePool": (ALIGNED, "kubelet.topologyManager"),
    "OpenShiftGpuMachineSet": (
        {**ALIGNED, "openshift": {**CHAT["openshift"], "machineConfig": {}}},
        "kubelet.topologyManager",
    ),
    "SimulatedGpuNodePool": (ALIGNED, "kubelet.topologyManager"),
    "VsphereGpuNodeGroup": (UNFINISHED, "sharing.mig.layouts[0].devices"),
}


@pytest.mark.parametrize("component", [name for name, args in VALID.items() if "pool" in args])
def test_what_was_found_about_a_pool_alone_is_printed(run: Any, component: str) -> None:
    args, (more, path) = copy.deepcopy(VALID[component]), WARNED[component]
    args["pool"] = {**args["pool"], **more}
    warned = run(lambda: getattr(gpufleet, component)("one", args)).warnings
    assert [text for text in warned if f": pool.{path}: " in text]


QUEUED = {"pool": {**POOL, "capacity": [{"queued": {"maxRunDuration": "2d"}}]}}


@pytest.mark.parametrize(
    ("changed", "codes"), [(QUEUED, []), ({"region": "us-east9"}, ["region-unknown"])]
)
def test_of_the_cluster_only_arguments_are_named(
    run: Any, changed: dict[str, Any], codes: list[str]
) -> None:
    """The queues may be another component's."""
    args: Any = {**copy.deepcopy(VALID["GkeGpuNodePool"]), **changed}
    warned = run(lambda: gpufleet.GkeGpuNodePool("one", args)).warnings
    assert [text.partition(":")[0] for text in warned] == codes


def test_a_value_in_quotation_marks_is_no_name_of_an_argument() -> None:
    names = {"pools[0]": "pool", "nodeCount": "systemNodes.nodesPerZone"}
    found = error(
        "a", 'pools[0].labels["nodeCount"]', "`pools[0].gpu` is \"pools[0]\", 'nodeCount'"
    )
    own = in_own_words(names, [found])[0]
    assert own.path == 'pool.labels["nodeCount"]'
    assert own.message == "`pool.gpu` is \"pools[0]\", 'nodeCount'"


ON_EKS = ["Karpenter", "ClusterAutoscaler", "EksGpuNodeGroup", "NodeMonitoringAgent"]


@pytest.mark.parametrize("component", ON_EKS)
@pytest.mark.parametrize("name", ["", "ml\n", "m l", "mü", "x" * 101])
def test_a_name_that_no_cluster_of_eks_has_is_refused(run: Any, component: str, name: str) -> None:
    args = {**copy.deepcopy(VALID[component]), "cluster_name": name}
    refused = refusal(lambda: run(lambda: getattr(gpufleet, component)("one", args)))
    assert refused is not None
    assert [(one.code, one.path) for one in refused.findings if one.severity is Severity.ERROR] == [
        ("connection-no-cluster-name", "clusterName")
    ]


@pytest.mark.parametrize("component", ["Karpenter", "ClusterAutoscaler"])
def test_a_region_that_aws_does_not_have_is_warned_of(run: Any, component: str) -> None:
    args = {**VALID[component], "region": "us-east-1\n"}
    warned = run(lambda: getattr(gpufleet, component)("one", args)).warnings
    assert [text.partition(": ")[0] for text in warned] == ["region-unknown"]


@pytest.mark.parametrize("component", ["Karpenter", "ClusterAutoscaler"])
def test_a_name_that_is_known_late_cannot_break_the_policy(run: Any, component: str) -> None:
    args = {**VALID[component], "cluster_name": pulumi.Output.from_input('m"l\n')}
    made = run(lambda: getattr(gpufleet, component)("one", args))
    policy = json.loads(made.one("aws:iam/rolePolicy:RolePolicy").inputs["policy"])
    conditions = [one["Condition"] for one in policy["Statement"] if "Condition" in one]
    named = [key for one in conditions for keys in one.values() for key in keys if "cluster" in key]
    assert named
    assert all(key.endswith('/m"l\n') for key in named)


TRAINIUM = {"name": "trn", "instanceTypes": ["trn1.32xlarge"], "nodes": {"min": 0, "max": 1}}
UNEQUAL = {**POOL, **ALIGNED}
TEAMS = [{"name": one, "share": 0.5, "namespaces": ["ml"]} for one in ("a", "b")]


@pytest.mark.parametrize(
    ("component", "more", "code"),
    [
        ("GpuAddons", {"pools": [UNEQUAL]}, "kubelet-topology-without-cores"),
        (
            "DraDriver",
            {"pools": [{**UNEQUAL, "sharing": {"dra": {}}}]},
            "kubelet-topology-without-cores",
        ),
        ("KueueQueues", {"pools": [UNEQUAL], "queues": {"teams": TEAMS}}, "namespace-of-two-teams"),
        ("GpuMonitoring", {"pools": [TRAINIUM]}, "monitoring-sees-no-devices"),
    ],
)
def test_an_add_on_alone_prints_what_was_found_about_its_arguments(
    run: Any, component: str, more: dict[str, Any], code: str
) -> None:
    """Queues and monitoring do not name the pools' findings once more."""
    args = {**copy.deepcopy(VALID[component]), **more}
    warned = run(lambda: getattr(gpufleet, component)("one", args)).warnings
    assert [text.partition(": ")[0] for text in warned] == [code]
