"""The labels that a pool owns on nodes that exist, in each way of writing them.

Taints are never written: a node's list of them is one field, and a program that applies it owns
all of it.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.fleet.layout_waves import labels_of
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.spec.platforms.existing import ExistingOptions, LabelsBy

PRODUCT_LABEL = "nvidia.com/gpu.product"
"""Written by GPU Feature Discovery."""
FORCE_ANNOTATION, MANAGER_ANNOTATION = "pulumi.com/patchForce", "pulumi.com/patchFieldManager"
"""Of Pulumi's Kubernetes provider: win over what an operand wrote in a key's place, and the name
under which a patch owns its fields."""
DISPLAY_CLASSES = ("0300", "0302")
NVIDIA_VENDOR = "10de"
"""PCI classes and vendor by which the GPU Operator's own rule finds GPUs (NVIDIA/gpu-operator
v26.7.0 `templates/nodefeaturerules.yaml`)."""


def options_of(pool: Pool) -> ExistingOptions:
    """The pool's section; with defaults where it has none."""
    return pool.spec.existing or ExistingOptions()


def products(pool: Pool) -> Sequence[str]:
    """Values of `PRODUCT_LABEL` for the pool's GPU."""
    return [name.replace(" ", "-") for name in pool.gpu.product_names]


def selector(pool: Pool) -> Mapping[str, Sequence[str]]:
    """Labels that choose the nodes: key -> the values it may have. Empty: by name, or all."""
    options = options_of(pool)
    if options.product:
        return {PRODUCT_LABEL: products(pool)}
    return {key: [value] for key, value in options.labels.items()}


def node_patches(fleet: Fleet, pool: Pool) -> dict[str, dict[str, Any]]:
    """Node -> metadata that is applied to it; none where something else writes the labels."""
    options = options_of(pool)
    if options.writer is not LabelsBy.APPLY:
        return {}
    manager = f"gpufleet-{fleet.spec.resource_prefix}-{pool.name}"[:128]
    return {
        node: {
            "name": node,
            "labels": dict(labels_of(pool, ordinal)),
            "annotations": {FORCE_ANNOTATION: "true", MANAGER_ANNOTATION: manager},
        }
        for ordinal, node in enumerate(options.nodes)
    }


def node_feature_rule(fleet: Fleet, pool: Pool) -> dict[str, Any] | None:
    """The NodeFeatureRule that labels the pool's nodes; None where something else does.

    Node Feature Discovery takes labels of a rule away again when the rule goes (kubernetes-sigs/
    node-feature-discovery, customization guide).
    """
    options = options_of(pool)
    if options.writer is not LabelsBy.RULE:
        return None
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": {"name": f"{fleet.spec.resource_prefix}-{pool.name}"},
        "spec": {
            "rules": [
                {
                    "name": f"gpufleet pool {pool.name}",
                    "labels": dict(pool.labels),
                    "matchFeatures": [
                        {
                            "feature": "pci.device",
                            "matchExpressions": {
                                "vendor": {"op": "In", "value": [NVIDIA_VENDOR]},
                                "class": {"op": "In", "value": list(DISPLAY_CLASSES)},
                            },
                        },
                        *_by_name(options),
                    ],
                }
            ]
        },
    }


def _by_name(options: ExistingOptions) -> list[dict[str, Any]]:
    if options.name_pattern is not None:
        expression = {"op": "InRegexp", "value": [f"^({options.name_pattern})$"]}
    elif options.nodes:
        expression = {"op": "In", "value": list(options.nodes)}
    else:
        return []
    return [{"feature": "system.name", "matchExpressions": {"nodename": expression}}]


def commands(pool: Pool) -> str:
    """What a person runs to give the nodes of a pool its labels and taints, and to take them."""
    options = options_of(pool)
    target = " ".join(options.nodes) or _selected(pool)
    labels = " ".join(f"{key}={value}" for key, value in pool.labels.items())
    taints = " ".join(f"{t.key}={t.value}:{t.effect}" for t in pool.taints)
    lines = ["#!/bin/sh", "set -eu"]
    if options.name_pattern is not None:
        whole = shlex.quote(f"^node/({options.name_pattern})$")
        names = f"kubectl get nodes -o name | grep -E {whole}"
        lines, target = [*lines, f"nodes=$({names})"], "$nodes"
    if options.writer is LabelsBy.COMMANDS:
        lines.append(f"kubectl label --overwrite {_kind(target)}{target} {labels}")
    if taints:
        lines.append("# Where the nodes are to be kept for pods that ask for GPUs:")
        lines.append(f"# kubectl taint --overwrite {_kind(target)}{target} {taints}")
    gone = " ".join(f"{key}-" for key in pool.labels)
    if options.writer is LabelsBy.COMMANDS:
        lines += ["# To take the labels away:", f"# kubectl label {_kind(target)}{target} {gone}"]
    return "\n".join(lines) + "\n"


def _kind(target: str) -> str:
    return "" if target == "$nodes" else "nodes "


def _selected(pool: Pool) -> str:
    chosen = selector(pool)
    if not chosen:
        return "-l feature.node.kubernetes.io/pci-10de.present=true"
    terms = [
        f"{key}={values[0]}" if len(values) == 1 else f"{key} in ({', '.join(values)})"
        for key, values in chosen.items()
    ]
    return f"-l '{','.join(terms)}'"
