"""An autoscaler of Kubernetes (autoscaling/v2) by metrics of the pods."""

from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.render.scaling_signals import SOURCES, behaviour, quantity, scale_target, target_of
from gpufleet.spec.scaling import Scaling


def horizontal_pod_autoscaler(scaling: Scaling) -> dict[str, Any]:
    """The object; it is called like its target."""
    target = scaling.target
    metrics = [
        {
            "type": "Pods",
            "pods": {
                "metric": {"name": SOURCES[on.signal].metric},
                "target": {"type": "AverageValue", "averageValue": quantity(target_of(on))},
            },
        }
        for on in scaling.on
    ]
    spec = {
        "scaleTargetRef": scale_target(target),
        "minReplicas": max(scaling.min, 1),
        "maxReplicas": scaling.max,
        "metrics": metrics,
        "behavior": behaviour(scaling),
    }
    kind = "HorizontalPodAutoscaler"
    return manifest("autoscaling/v2", kind, target.name, target.namespace, spec=spec)
