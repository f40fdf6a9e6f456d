"""Values of AWS' chart neuron-helm-chart: device plugin, scheduler extension, health.

Source: aws-neuron/neuron-helm-charts `charts/neuron-helm-chart/values.yaml` (read 2026-11-21). The
scheduler extension places pods on neighbouring devices, which ring collectives need; it is a second
scheduler, and pods that want it name it.
"""

from collections.abc import Sequence
from typing import Any

NEURON_TAINT = {"key": "aws.amazon.com/neuron", "operator": "Exists", "effect": "NoSchedule"}
SCHEDULER_NAME = "my-scheduler"
"""What the chart calls its scheduler, and pods write as `schedulerName`."""


def neuron_values(
    *,
    scheduler: bool,
    node_problem_detector: bool,
    node_recovery: bool,
    tolerations: Sequence[dict[str, str]] = (),
) -> dict[str, Any]:
    """The values.

    Args:
        scheduler: Run the scheduler extension.
        node_problem_detector: Watch the devices' errors.
        node_recovery: Replace nodes whose devices fail; needs the detector, and rights in EC2.
        tolerations: Taints that the device plugin tolerates beside the chart's own.
    """
    return {
        "devicePlugin": {
            "tolerations": [
                {"key": "CriticalAddonsOnly", "operator": "Exists"},
                dict(NEURON_TAINT),
                *tolerations,
            ]
        },
        "scheduler": {"enabled": scheduler},
        "npd": {
            "enabled": node_problem_detector,
            "nodeRecovery": {"enabled": node_recovery},
        },
    }
