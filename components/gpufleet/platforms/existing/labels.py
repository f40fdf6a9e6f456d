"""The labels that a pool owns on existing nodes, in each way of writing them.

Taints are never written: a node's list of them is one field, and a program that applies it owns
all of it.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.fleet.layout_waves import labels_of
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.reported_gpus import PRODUCT_LABEL
from gpufleet.spec.platforms.existing import ExistingOptions, LabelsBy

FORCE_ANNOTATION, MANAGER_ANNOTATION = "pulumi.com/patchForce", "pulumi.com/patchFieldManager"
"""Annotations of Pulumi's Kubernetes provider: override a value that an operand wrote, and the name
under which a patch owns its fields."""
DISPLAYS, NVIDIA_VENDOR = ("0300", "0302"), "10de"
"""PCI classes and vendor by which the GPU Operator's own rule detects GPUs (NVIDIA/gpu-operator
v26.7.0 `templates/nodefeaturerules.yaml`)."""


def options_of(pool: Pool) -> ExistingOptions:
    """The pool's section; defaults if it has none."""
    return pool.spec.existing or ExistingOptions()


def selector(pool: Pool) -> Mapping[str, Sequence[str]]:
    """Labels that select the nodes: key -> allowed values. Empty: by name, or all."""
    options = options_of(pool)
    if options.product:
        return {PRODUCT_LABEL: [name.replace(" ", "-") for name in pool.gpu.product_names]}
    return {key: [value] for key, value in options.labels.items()}


def node_patches(fleet: Fleet, pool: Pool) -> dict[str, dict[str, Any]]:
    """Node -> metadata that is applied to it; empty if another program writes the labels."""
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
    """The NodeFeatureRule of the pool; None if another program sets the labels, which are removed
    with it (kubernetes-sigs/node-feature-discovery v0.18.3 `pkg/nfd-master/nfd-master.go`)."""
    options = options_of(pool)
    if options.writer is not LabelsBy.RULE:
        return None
    name = f"{fleet.spec.resource_prefix}-{pool.name}"
    terms = [_term("pci.device", vendor=("In", NVIDIA_VENDOR), **{"class": ("In", *DISPLAYS)})]
    if options.name_pattern is not None:
        terms.append(_term("system.name", nodename=("InRegexp", f"^({options.name_pattern})$")))
    elif options.nodes:
        terms.append(_term("system.name", nodename=("In", *options.nodes)))
    rule = {"name": name, "labels": dict(pool.labels), "matchFeatures": terms}
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": {"name": name},
        "spec": {"rules": [rule]},
    }


def _term(feature: str, **wanted: tuple[str, ...]) -> dict[str, Any]:
    expressions = {key: {"op": op, "value": values} for key, (op, *values) in wanted.items()}
    return {"feature": feature, "matchExpressions": expressions}


def commands(pool: Pool) -> str:
    """Commands that set, and remove, the labels and taints of a pool's nodes."""
    labels = " ".join(f"{key}={value}" for key, value in pool.labels.items())
    taints = " ".join(f"{t.key}={t.value}:{t.effect}" for t in pool.taints)
    lines = ["#!/bin/sh", "set -eu", f"nodes={_listed(pool)}"]
    by_hand = options_of(pool).writer is LabelsBy.COMMANDS
    if by_hand:
        lines.append(f"kubectl label --overwrite $nodes {labels}")
    if taints:
        lines.append("# Where the nodes are to be kept for pods that ask for GPUs:")
        lines.append(f"# kubectl taint --overwrite $nodes {taints}")
    if by_hand:
        gone = " ".join(f"{key}-" for key in pool.labels)
        lines += ["# To take the labels away:", f"# kubectl label $nodes {gone}"]
    return "\n".join(lines) + "\n"


def _listed(pool: Pool) -> str:
    """Shell expression for the names of the nodes."""
    options = options_of(pool)
    if options.nodes:
        return shlex.quote(" ".join(f"node/{name}" for name in options.nodes))
    if options.name_pattern is not None:
        whole = shlex.quote(f"^node/({options.name_pattern})$")
        return f"$(kubectl get nodes -o name | grep -E {whole})"
    chosen = selector(pool) or {"feature.node.kubernetes.io/pci-10de.present": ["true"]}
    terms = (f"{key} in ({', '.join(values)})" for key, values in chosen.items())
    return f"$(kubectl get nodes -o name -l {shlex.quote(','.join(terms))})"
