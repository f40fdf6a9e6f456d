"""An autoscaler of Kubernetes (autoscaling/v2) by metrics of the pods."""

from typing import Any

from gpufleet.render.scaling_signals import SOURCES, behaviour, quantity, target_of
from gpufleet.spec.scaling import Scaling

LABELS = {"app.kubernetes.io/managed-by": "gpufleet"}


def horizontal_pod_autoscaler(scaling: Scaling) -> dict[str, Any]:
    """The object; it is called like its target."""
    target = scaling.target
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "labels": dict(LABELS),
        },
        "spec": {
            "scaleTargetRef": {
                "apiVersion": target.api_version,
                "kind": target.kind,
                "name": target.name,
            },
            "minReplicas": max(scaling.min, 1),
            "maxReplicas": scaling.max,
            "metrics": [
                {
                    "type": "Pods",
                    "pods": {
                        "metric": {"name": SOURCES[on.signal].metric},
                        "target": {
                            "type": "AverageValue",
                            "averageValue": quantity(target_of(on)),
                        },
                    },
                }
                for on in scaling.on
            ],
            "behavior": behaviour(scaling),
        },
    }
