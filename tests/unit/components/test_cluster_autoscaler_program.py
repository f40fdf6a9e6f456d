"""Everything we tell Cluster Autoscaler is something its program, or its chart, reads."""

import re
from typing import Any

import pytest

from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.autoscaler_tags import TEMPLATE, autoscaler_tags
from gpufleet.platforms.eks.cluster_autoscaler_values import cluster_autoscaler_values
from gpufleet.spec.addons import ClusterAutoscaler, Expander
from tests.unit.components.cluster_autoscaler_program import EXPANDERS, FLAGS, OPTIONS, VALUES
from tests.unit.render.fleets import one

DURATION = re.compile(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")
"""Forms of our durations that Go's `time.ParseDuration` accepts."""

ACCEPTED: dict[str, Any] = {
    "bool": lambda value: isinstance(value, bool),
    "duration": lambda value: DURATION.match(str(value)) is not None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
}
"""Kind of a flag -> whether the program parses a value of it."""

SCALED: tuple[Pool, ...] = (
    one(gpu="L4", provisioner="clusterAutoscaler"),
    one(
        gpu="L4",
        provisioner="clusterAutoscaler",
        nodes={"min": 1, "max": 2},
        sharing={"dra": {}},
    ),
)


def values(addon: ClusterAutoscaler, *, requests: bool = True) -> dict[str, Any]:
    return cluster_autoscaler_values(
        addon, SCALED, "ml", "us-east-1", "1.36", provisioning_requests=requests
    )


@pytest.mark.parametrize("expander", list(Expander))
def test_every_argument_is_a_flag_with_a_value_it_parses(expander: Expander) -> None:
    kinds = {name: kind for kind, names in FLAGS.items() for name in names}
    arguments = values(ClusterAutoscaler(expander=expander))["extraArgs"]
    assert set(arguments) == {
        "balance-similar-node-groups",
        "enable-dynamic-resource-allocation",
        "enable-provisioning-requests",
        "expander",
        "kube-api-content-type",
        "max-node-provision-time",
        "scale-down-gpu-utilization-threshold",
        "skip-nodes-with-system-pods",
    }
    assert [name for name in arguments if name not in kinds] == []
    assert [n for n, value in arguments.items() if not ACCEPTED[kinds[n]](value)] == []
    assert arguments["expander"] in EXPANDERS


def test_every_value_is_a_key_of_the_chart() -> None:
    given = values(ClusterAutoscaler(expander=Expander.PRIORITY))
    assert set(given) <= set(VALUES)
    # The chart requires this pair before it deploys anything; the component wires the other half.
    assert given["cloudProvider"] == "aws"
    assert given["rbac"]["serviceAccount"]["name"] == "cluster-autoscaler"


def test_every_option_of_a_group_is_one_the_program_reads() -> None:
    prefix = f"{TEMPLATE}autoscaling-options/"
    for pool in SCALED:
        tags = autoscaler_tags(pool) or {}
        options = {k.removeprefix(prefix): v for k, v in tags.items() if k.startswith(prefix)}
        assert options
        assert set(options) <= set(OPTIONS)
        assert DURATION.match(options["scaledownunneededtime"])


def test_taint_tags_have_the_form_the_program_looks_for() -> None:
    # extractTaintsFromAsg: (.*):(?:NoSchedule|NoExecute|PreferNoSchedule)
    tags = autoscaler_tags(SCALED[0]) or {}
    taints = [value for key, value in tags.items() if key.startswith(f"{TEMPLATE}taint/")]
    assert taints == ["present:NoSchedule"]
    assert all(re.match(r"(.*):(?:NoSchedule|NoExecute|PreferNoSchedule)", one) for one in taints)
