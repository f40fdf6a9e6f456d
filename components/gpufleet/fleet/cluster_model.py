"""The model of a compiled fleet's cluster, which the contract rules check."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.fact import Provenance, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, PoolTaint, SharedGpus, Size
from gpufleet.cluster.program import Program, decided_release
from gpufleet.contract.advertisers import Advertiser
from gpufleet.contract.declared_site import ADDONS, declared_release, declared_site
from gpufleet.contract.health import MANAGED_LABEL
from gpufleet.contract.provisioner_model import GATE
from gpufleet.contract.relation import (
    DRA_DRIVER,
    GPU_OPERATOR,
    KARPENTER,
    NETWORK_OPERATOR,
    NIC_POLICY,
    NVSENTINEL_CHART,
)
from gpufleet.documents.paths import value_at
from gpufleet.findings.locator import NO_OBJECT
from gpufleet.fleet.addon_plan import rdma_pools
from gpufleet.fleet.chart_values import leaves, merged, nested
from gpufleet.fleet.gpu_operator_chart import operator_values, planned_settings
from gpufleet.fleet.health import always_repairs, by_nvsentinel, repairer_of
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.fleet.nic_cluster_policy import policy_spec
from gpufleet.spec.addons import Addon, Addons
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gpu_operator_keys import declared_path, typed_settings
from gpufleet.spec.pool import Fabric, Provisioner

_DECLARED = Provenance.DECLARED


def cluster_of(
    spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan, catalogue: Catalogue
) -> ClusterModel:
    """The cluster-wide facts of a declaration."""
    addons = spec.addons
    wait = addons.network_operator.wait
    claims = any(pool.partition.dra is not None for pool in pools)
    with_nics = rdma_pools(pools)
    programs = (*_programs(addons, plan, catalogue, claims=claims), *_sentinel(pools))
    return ClusterModel(
        site=replace(declared_site(spec, catalogue), programs=programs),
        pools=tuple(_repaired(spec, pool, pool_of(pool, rdma=pool in with_nics)) for pool in pools),
        complete=True,
        elsewhere=frozenset(
            chart
            for field, (_, chart) in ADDONS.items()
            if getattr(addons, field).ownership is not Ownership.MANAGED
        ),
        ofed=known(addons.network_operator.ofed.value, _DECLARED, "addons.networkOperator.ofed"),
        waits_for_ofed=absent() if wait is None else known(wait, _DECLARED),
    )


def _sentinel(pools: Sequence[Pool]) -> Iterator[Program]:
    """NVSentinel, if a pool allows it to act."""
    if any(policy.acts for _, policy in by_nvsentinel(pools)):
        values = {"global": {"faultQuarantine": {"enabled": True}}}
        yield Program(name=NVSENTINEL_CHART, values=values, place="health")


def _repaired(spec: FleetSpec, pool: Pool, made: NodePool) -> NodePool:
    """The pool with the program that repairs its nodes, if its declaration decides that."""
    policy, own = pool.health, repairer_of(pool)
    if policy is None or own is None:
        return made
    on = policy.platform_repairs or always_repairs(spec, own)
    kept_off = {key: text for key, text in pool.labels.items() if key == MANAGED_LABEL}
    return replace(made, repair=known(on, _DECLARED), repairer=own.who, labels=kept_off)


def pool_of(pool: Pool, *, rdma: bool = False) -> NodePool:
    """One pool. `rdma`: whether the Network Operator serves its NICs."""
    facts, image, partition = pool.platform.facts, pool.image, pool.partition
    branch = image.branch_for(pool.gpu.key) if image is not None and image.driver else None
    at = pool.path
    return NodePool(
        locator=NO_OBJECT,
        name=pool.name,
        declared_at=at,
        maker=_maker(pool),
        instance_types=known(tuple(machine.name for machine in pool.machines), _DECLARED),
        gpu=known(pool.gpu.key, _DECLARED, at),
        gpus_per_node=known(pool.gpus_per_node, _DECLARED),
        is_gpu_pool=known(True, _DECLARED),
        size=Size(minimum=known(pool.nodes.minimum, _DECLARED)),
        taints=known(
            tuple(PoolTaint(one.key, one.effect, one.value) for one in pool.work_taints), _DECLARED
        ),
        fabric=known(_fabric(pool, rdma=rdma), _DECLARED, f"{at}.fabric"),
        shared=SharedGpus(
            strategy=known(partition.mode, _DECLARED),
            mig=known(partition.mig_enabled, _DECLARED),
            place=f"{at}.sharing",
        ),
        image=unknown(f"{at}.image")
        if image is None
        else known(image.key, _DECLARED, f"{at}.image"),
        brings=known(frozenset[str]() if image is None else image.brings, _DECLARED),
        driver=absent() if branch is None else known(branch, _DECLARED),
        advertiser=known(intended(pool).value, _DECLARED),
        advertised=known(pool.advertised, _DECLARED),
        reset_may_be_forbidden=known(facts.reset_may_be_forbidden, _DECLARED),
        existing=pool.ownership is Ownership.EXISTING,
    )


def _fabric(pool: Pool, *, rdma: bool) -> str:
    """`rdma` is the fabric of the Network Operator; that of the platform has another name."""
    if pool.fabric is Fabric.RDMA and not rdma:
        return "gpudirect"
    return pool.fabric.value


def _maker(pool: Pool) -> Maker:
    if pool.provisioner is Provisioner.KARPENTER:
        return Maker.KARPENTER
    named = pool.platform.name.value.partition("-")[0]
    return Maker(named) if named in {one.value for one in Maker} else Maker.FLEET


def intended(pool: Pool) -> Advertiser:
    """The program that should advertise the pool's GPUs, from its declaration alone."""
    if pool.gpu.vendor == "aws":
        return Advertiser.NEURON
    if pool.partition.mode == "dra":
        return Advertiser.DRA
    if pool.served_by_platform or pool.gpu.vendor != "nvidia":
        return Advertiser.PLATFORM
    if pool.image is not None and pool.image.device_plugin:
        return Advertiser.IMAGE
    chart = pool.owners.device_plugin.value == "devicePlugin"
    return Advertiser.PLUGIN_CHART if chart else Advertiser.OPERATOR


def _programs(
    addons: Addons, plan: AddonPlan, catalogue: Catalogue, *, claims: bool
) -> Iterator[Program]:
    operator, network = addons.gpu_operator, addons.network_operator
    if plan.gpu_operator.enabled:
        yield operator_program(addons, plan, catalogue)
    if plan.network_operator.enabled:
        place = "addons.networkOperator"
        yield _program(NETWORK_OPERATOR, network, network.values, {}, place, catalogue)
        yield replace(
            _program(NIC_POLICY, network, network.policy, {}, place, catalogue, "policy"),
            values=policy_spec(addons, plan.network_operator),
        )
    yield from _raw(addons, catalogue, own_driver=claims and not operator.gpu_cluster)


def operator_program(addons: Addons, plan: AddonPlan, catalogue: Catalogue) -> Program:
    """The GPU Operator of a declaration."""
    operator, place = addons.gpu_operator, "addons.gpuOperator"
    asked = planned_settings(addons, plan.gpu_operator)
    if operator.ownership is Ownership.EXISTING:
        # Its configuration does not contain the needs of the pools.
        asked = asked.model_copy(update={"tolerations": ()})
    typed = {
        key: f"{place}.{declared_path(field)}"
        for field, key, _ in typed_settings(operator, written=True)
    }
    typed = {"driver.version": f"{place}.driver.version", **typed}
    values = operator_values(asked, operator.values)
    return _program(GPU_OPERATOR, operator, values, typed, place, catalogue)


def _raw(addons: Addons, catalogue: Catalogue, *, own_driver: bool) -> Iterator[Program]:
    """Programs of which only raw values are read."""
    for field, (place, chart) in ADDONS.items():
        addon: Addon = getattr(addons, field)
        if chart in (GPU_OPERATOR, NETWORK_OPERATOR) or addon.enabled is False:
            continue
        if chart == DRA_DRIVER and addon.enabled is not True and not own_driver:
            continue
        values, typed = addon.values, dict[str, str]()
        if chart == KARPENTER:
            gate = addons.karpenter.node_overlay
            if gate is None and addon.ownership is not Ownership.EXISTING:
                gate = True
            typed = {GATE: f"{place}.nodeOverlay"}
            values = merged(nested([] if gate is None else [(GATE, gate)]), addon.values)
        yield replace(
            _program(chart, addon, values, typed, place, catalogue), complete=chart == DRA_DRIVER
        )


def _program(
    chart: str,
    addon: Addon,
    values: Mapping[str, Any],
    typed: Mapping[str, str],
    place: str,
    catalogue: Catalogue,
    section: str = "values",
) -> Program:
    """An add-on. `typed`: where typed settings are declared; raw values override them."""
    raw: Mapping[str, Any] = getattr(addon, section)
    at = f"{place}.{section}"
    return Program(
        name=chart,
        release=decided_release(chart, declared_release(addon, place), catalogue=catalogue),
        values=values,
        complete=addon.ownership is not Ownership.EXISTING,
        place=at,
        places={
            **{key: path for key, path in typed.items() if value_at(raw, key) is None},
            **{key: f"{at}.{key}" for key, _ in leaves(raw)},
        },
        ownership=known(addon.ownership.value, _DECLARED, f"{place}.ownership"),
    )
