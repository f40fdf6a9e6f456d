"""What is computed from pools of nodes that exist, and what is wrong with their declaration."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import Finding, error
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Machine, Pool
from gpufleet.fleet.platform_rules import DeclaredMachine, OperatorHost, PlatformRules
from gpufleet.platforms.existing.labels import node_feature_rule, node_patches, options_of
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.kubelet import Kubelet
from gpufleet.spec.platforms.existing import ExistingOptions, LabelsBy
from gpufleet.spec.pool import GpuPool

_ELSEWHERE = "the nodes exist: the people who made them start their kubelet"


class ExistingRules(PlatformRules):
    """Labels of nodes are all that is written."""

    node_kinds = frozenset({"node"})

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        options = pool.existing or ExistingOptions()
        return DeclaredMachine(options.cpus, options.memory_gib)

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str]:
        return dict.fromkeys(
            (field.alias or name for name, field in Kubelet.model_fields.items()), _ELSEWHERE
        )

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        options, place = pool.existing or ExistingOptions(), f"{path}.existing"
        yield from _writer(pool, options, place)
        count = len(options.nodes)
        if count and not pool.nodes.min <= count <= pool.nodes.max:
            yield error(
                "existing-nodes-counted-twice",
                f"{path}.nodes",
                f"{count} nodes are named, and the pool has {pool.nodes.min} to {pool.nodes.max}",
                f"write `nodes: {{min: {count}, max: {count}}}`",
                found=count,
            )
        if len(set(options.nodes)) < count:
            yield error(
                "existing-node-twice", f"{place}.nodes", "a node is named twice", "name it once"
            )
        if options.name_pattern is not None and not _is_pattern(options.name_pattern):
            yield error(
                "existing-pattern-invalid",
                f"{place}.namePattern",
                f"{options.name_pattern!r} is not a regular expression",
                "write one for the whole name, such as `gpu-[0-9]+`",
                found=options.name_pattern,
            )
        if pool.zones:
            yield error(
                "zones-not-on-platform",
                f"{path}.zones",
                "nodes that exist are where they are",
                "remove zones; choose the nodes of a zone under `existing: {labels: {...}}`",
                found=list(pool.zones),
            )

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        yield from _overlaps(pools)
        yield from _runtimes(pools)
        yield from _sockets(spec, pools)

    def operator_host(self, spec: FleetSpec, operated: Sequence[Pool]) -> OperatorHost:
        given = [env for env in _environments(operated) if env]
        return OperatorHost(toolkit_env=given[0]) if given else OperatorHost()

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        """`node/<name>` -> its labels, or the rule."""
        rule = node_feature_rule(fleet, pool)
        found = {
            f"node/{name}": {"labels": one["labels"]}
            for name, one in node_patches(fleet, pool).items()
        }
        return found if rule is None else {"rule": {"spec": rule["spec"]}}

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        return LeafClass.LIVE

    def node_names(self, fleet: Fleet, pool: str, ordinals: Iterable[int]) -> list[str]:
        names = options_of(fleet.pool(pool)).nodes
        return [names[ordinal] for ordinal in ordinals if ordinal < len(names)]


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _writer(pool: GpuPool, options: ExistingOptions, place: str) -> Iterable[Finding]:
    if options.writer is LabelsBy.APPLY and not options.nodes:
        yield error(
            "existing-apply-without-nodes",
            f"{place}.nodes",
            "labels are applied to nodes by their names, and none is named",
            "name them under `nodes`, or write `labelsBy: rule` or `commands`",
        )
    if options.writer is LabelsBy.RULE and (options.labels or options.product):
        yield error(
            "existing-rule-by-labels",
            f"{place}.labelsBy",
            "a NodeFeatureRule sees names and devices of a node, and none of its labels",
            "choose the nodes by `namePattern` or `nodes`, or write `labelsBy: commands`",
        )
    if options.writer is LabelsBy.RULE and pool.change is not None:
        yield error(
            "existing-rule-in-waves",
            f"{place}.labelsBy",
            "a NodeFeatureRule changes all nodes of the pool at once, and `change` is in waves",
            "name the nodes and write `labelsBy: apply`, or remove `change`",
        )


def _overlaps(pools: Sequence[Pool]) -> Iterable[Finding]:
    """One node in two pools: each label would have two values."""
    first: dict[str, str] = {}
    for pool in pools:
        for index, name in enumerate(options_of(pool).nodes):
            if first.setdefault(name, pool.name) != pool.name:
                yield error(
                    "existing-node-of-two-pools",
                    f"{pool.path}.existing.nodes[{index}]",
                    f"{name} is a node of {first[name]} too",
                    "name it in one pool",
                    found=name,
                )
    everything = [pool for pool in pools if options_of(pool).selects_all]
    if everything and len(pools) > 1:
        pool = everything[0]
        yield error(
            "existing-nodes-of-all-pools",
            f"{pool.path}.existing",
            f"nothing says which nodes are those of {pool.name}, and there are other pools: it "
            "would be all nodes with NVIDIA GPUs",
            "add `existing: {nodes: [...]}`, or `namePattern`, `labels` or `product: true`",
        )


def _environments(pools: Sequence[Pool]) -> list[Mapping[str, str]]:
    return [{} if pool.image is None else pool.image.toolkit_env for pool in pools]


def _runtimes(pools: Sequence[Pool]) -> Iterable[Finding]:
    """The toolkit's environment is one for the cluster (ClusterPolicy `toolkit.env`)."""
    needed = [(pool, pool.image) for pool in pools if pool.image is not None]
    needed = [(pool, image) for pool, image in needed if not image.toolkit]
    for pool, image in needed[1:]:
        if image.toolkit_env != needed[0][1].toolkit_env:
            yield error(
                "existing-runtimes-differ",
                f"{pool.path}.image",
                f"the operator's toolkit has one environment for all nodes, and {image.key} needs "
                f"another than {needed[0][1].key} of {needed[0][0].name}",
                "install the toolkit on the nodes of one of them, and name an image that has it",
                found=image.key,
            )


def _sockets(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """What RKE2 needs of the toolkit (docs.rke2.io, "Deploy NVIDIA operator"), and a declaration
    replaces: raw values of a list replace the whole list."""
    operator = spec.addons.gpu_operator
    raw = value_at(operator.values, "toolkit.env")
    written = {str(mapping(one).get("name")): mapping(one) for one in items(raw)}
    place = f"addons.gpuOperator.{'' if raw is None else 'values.'}toolkit.env"
    for pool in pools:
        image = pool.image
        if image is None or image.toolkit or operator.ownership is not Ownership.MANAGED:
            continue
        for name, needed in image.toolkit_env.items():
            if "valueFrom" in written.get(name, {}):
                continue  # not known
            found = written.get(name, {}).get("value")
            if raw is None:
                found = operator.toolkit.env.get(name, needed)
            if found != needed:
                yield error(
                    "existing-runtime-socket",
                    place,
                    f"{name} of the toolkit is {found or 'not set'}, and the containerd of "
                    f"{image.key} ({pool.name}) listens on {needed}: it never gets the runtime",
                    f"write {name}={needed} there, or remove the line",
                    found=found,
                )


RULES = ExistingRules()
