"""Computations about pools of existing nodes, and errors in their declaration."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.catalogue.software import NodeImage
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import Finding, error, rules_in
from gpufleet.fleet.model import Fleet, Machine, Pool
from gpufleet.fleet.platform_rules import DeclaredMachine, OperatorHost, PlatformRules
from gpufleet.platforms.existing.labels import node_feature_rule, node_patches, options_of
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.existing import ExistingOptions
from gpufleet.spec.pool import GpuPool

_rules = rules_in(__file__)


class ExistingRules(PlatformRules):
    """Only labels of nodes are written."""

    node_kinds = frozenset({"node"})

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        options = pool.existing or ExistingOptions()
        return DeclaredMachine(options.cpus, options.memory_gib)

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str] | str:
        return "gpufleet does not start the kubelet of existing nodes"

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        options = pool.existing or ExistingOptions()
        return _rules("pool", path, pool=pool, options=options, count=len(options.nodes))

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        yield from _overlaps(pools)
        yield from _runtimes(spec, pools)

    def operator_host(self, spec: FleetSpec, operated: Sequence[Pool]) -> OperatorHost:
        return OperatorHost(toolkit_env=_first_environment(_without_toolkit(operated)))

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        """`node/<name>` -> its labels, or the rule."""
        if (rule := node_feature_rule(fleet, pool)) is not None:
            return {"rule": {"spec": rule["spec"]}}
        patches = node_patches(fleet, pool).items()
        return {f"node/{name}": {"labels": one["labels"]} for name, one in patches}

    def node_names(self, fleet: Fleet, pool: str, ordinals: Iterable[int]) -> list[str]:
        names = options_of(fleet.pool(pool)).nodes
        return [names[ordinal] for ordinal in ordinals if ordinal < len(names)]


def _overlaps(pools: Sequence[Pool]) -> Iterable[Finding]:
    """One node in two pools: each label would have two values."""
    first: dict[str, str] = {}
    for pool in pools:
        place, options = f"{pool.path}.existing", options_of(pool)
        for i, name in enumerate(options.nodes):
            if (other := first.setdefault(name, pool.name)) != pool.name:
                text, fix = f"{name} is a node of {other} too", "name it in one pool"
                yield error("existing-node-of-two-pools", f"{place}.nodes[{i}]", text, fix)
        if options.selects_all and len(pools) > 1:
            text = f"the nodes with NVIDIA GPUs that belong to {pool.name} are not selected"
            fix = "add `existing: {nodes: [...]}`, or `namePattern`, `labels` or `product: true`"
            yield error("existing-nodes-of-all-pools", place, text, fix)


def _without_toolkit(pools: Sequence[Pool]) -> list[tuple[Pool, NodeImage]]:
    """Pools whose nodes get the container toolkit from the operator, with their images."""
    return [(p, image) for p in pools if (image := p.image) is not None and not image.toolkit]


def _first_environment(needing: Sequence[tuple[Pool, NodeImage]]) -> Mapping[str, str]:
    """The environment of the first image that needs one, for all nodes."""
    found = [image.toolkit_env for _, image in needing if image.toolkit_env]
    return found[0] if found else {}


def _runtimes(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Whether the operator's toolkit, which has one environment for all nodes (ClusterPolicy
    `toolkit.env`), reaches the containerd of each pool's nodes: RKE2's has a separate socket
    (docs.rke2.io, "Deploy NVIDIA operator"). Raw values of a list replace the whole list."""
    operator, needing = spec.addons.gpu_operator, _without_toolkit(pools)
    if operator.ownership is not Ownership.MANAGED:
        return
    raw = value_at(operator.values, "toolkit.env")
    first = _first_environment(needing)
    given: dict[str, Any] = {**first, **operator.toolkit.env}
    if raw is not None:
        written = map(mapping, items(raw))
        given = {str(one.get("name")): one.get("value", one.get("valueFrom")) for one in written}
    place = f"addons.gpuOperator.{'' if raw is None else 'values.'}toolkit.env"
    for pool, image in needing:
        for name in first:
            needed, found = image.toolkit_env.get(name), given.get(name)
            if found == needed or isinstance(found, dict):
                continue
            at, fix = place, f"write {name}={needed} there, or remove the line"
            if found == first[name]:
                at, fix = f"{pool.path}.image", "name an image that has the toolkit, and install it"
            text = (
                f"{name} of the toolkit is {found or 'not set'}, and the containerd of {image.key} "
                f"({pool.name}) needs {needed or 'none'}: it never gets the runtime"
            )
            yield error("existing-runtime-socket", at, text, fix, found=found)


RULES = ExistingRules()
