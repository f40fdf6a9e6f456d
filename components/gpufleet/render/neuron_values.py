"""Values of AWS' chart neuron-helm-chart: device plugin, scheduler extension, health.

Source: aws-neuron/neuron-helm-charts 1a1d41e `charts/neuron-helm-chart/values.yaml`, chart 1.1.2
(read 2026-11-22). The scheduler extension places pods on neighbouring devices, which ring
collectives need; it is a second scheduler, and pods that want it name it. The chart's device plugin
runs on a list of instance types that ends where its authors stopped.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import NEURON_TAINT, Fleet
from gpufleet.fleet.neuron import is_neuron

CHART = "neuron-helm-chart"
TOLERATIONS: tuple[Mapping[str, str], ...] = (
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": NEURON_TAINT.key, "operator": "Exists", "effect": NEURON_TAINT.effect},
    {
        "key": "sagemaker.amazonaws.com/node-health-status",
        "operator": "Equal",
        "value": "Unschedulable",
        "effect": "NoSchedule",
    },
)
"""The chart's own, which a list in the values replaces."""
SCHEDULER_NAME = "my-scheduler"
"""Name of the chart's scheduler, which pods set as `schedulerName`."""


def neuron_values(
    *,
    scheduler: bool,
    node_problem_detector: bool,
    node_recovery: bool,
    tolerations: Sequence[dict[str, str]] = (),
    instance_types: Sequence[str] = (),
) -> dict[str, Any]:
    """The values.

    Args:
        scheduler: Run the scheduler extension.
        node_problem_detector: Watch the devices' errors.
        node_recovery: Replace nodes whose devices fail; needs the detector, and rights in EC2.
        tolerations: Taints that the device plugin tolerates next to the chart's own.
        instance_types: Types of the nodes it runs on; empty: the chart's own list.
    """
    listed = {"neuronInstances": sorted(set(instance_types))} if instance_types else {}
    return {
        **listed,
        "devicePlugin": {"tolerations": [*map(dict, TOLERATIONS), *tolerations]},
        "scheduler": {"enabled": scheduler},
        "npd": {
            "enabled": node_problem_detector,
            "nodeRecovery": {"enabled": node_recovery},
        },
    }


def neuron_arguments(fleet: Fleet) -> dict[str, Any]:
    """Settings of the chart from a fleet's declaration and its pools."""
    plan = fleet.addons.neuron
    pools = [one for one in fleet.pools if is_neuron(one.gpu) and not one.served_by_platform]
    return {
        "scheduler": plan.scheduler,
        "node_problem_detector": plan.node_problem_detector,
        "node_recovery": plan.node_recovery,
        "tolerations": [{"key": t.key, "effect": t.effect} for t in plan.tolerations],
        "instance_types": sorted({machine.name for pool in pools for machine in pool.machines}),
    }


def neuron_release_values(fleet: Fleet) -> dict[str, Any]:
    """The values of a fleet's release, raw ones last."""
    arguments = neuron_arguments(fleet)
    arguments["tolerations"] = [one.as_dict() for one in fleet.addons.neuron.tolerations]
    values = merged(neuron_values(**arguments), fleet.spec.addons.neuron_device_plugin.values)
    return with_images(fleet, CHART, values)
