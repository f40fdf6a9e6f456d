"""Values of AWS' chart neuron-helm-chart (`objects/neuron.yaml`): device plugin, scheduler
extension, health.

The scheduler extension places pods on neighbouring devices, which ring collectives need; it is a
second scheduler, and pods that want it name it.
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.neuron import is_neuron
from gpufleet.render.data_files import data_part

CHART = "neuron-helm-chart"
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
    return data_part(
        "neuron",
        "values",
        instances=sorted(set(instance_types)) or None,
        tolerations=[*data_part("neuron", "tolerations"), *tolerations],
        scheduler=scheduler,
        node_problem_detector=node_problem_detector,
        node_recovery=node_recovery,
    )


def neuron_release_values(fleet: Fleet) -> dict[str, Any]:
    """The values of a fleet's release, raw ones last."""
    plan = fleet.addons.neuron
    pools = [one for one in fleet.pools if is_neuron(one.gpu) and not one.served_by_platform]
    made = neuron_values(
        tolerations=[one.as_dict() for one in plan.tolerations],
        instance_types=[machine.name for pool in pools for machine in pool.machines],
        scheduler=plan.scheduler,
        node_problem_detector=plan.node_problem_detector,
        node_recovery=plan.node_recovery,
    )
    values = merged(made, fleet.spec.addons.neuron_device_plugin.values)
    return with_images(fleet, CHART, values)
