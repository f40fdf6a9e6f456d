"""Settings that the Network Operator's definitions and webhook would refuse or never complete.

The webhook is off by default; its rules are those of `gpufleet check --as network-operator-values`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpufleet.contract.declared_site import problems, site_of
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.addon_plan import nodes_exist_already, rdma_pools
from gpufleet.fleet.chart_values import Values
from gpufleet.fleet.model import NetworkPlan, Pool
from gpufleet.fleet.nic_cluster_policy import (
    INSTALLED_IPAM,
    OFED_VERSIONS,
    all_networks,
    network_operator_values,
    policy,
)
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.network_operator import NetworkOperatorSettings, Ofed
from gpufleet.spec.secrets import validate_secrets

_finding = findings_in(__file__)

ADDON = "addons.networkOperator"
_CONTRACT = frozenset({"network-operator-nfd-twice", "network-operator-kubernetes"})
"""Codes of the contract check about the whole cluster."""


def validate_network_operator(
    spec: FleetSpec, pools: Sequence[Pool], plan: NetworkPlan
) -> Iterator[Finding]:
    """Findings about chart, policy and networks; none if gpufleet does not install the operator."""
    declared = spec.addons.network_operator
    if not plan.enabled:
        if all_networks(declared) or declared.sriov or declared.rdma:
            yield _finding("network-operator-off", ADDON, addon=ADDON)
        return
    if plan.ownership is Ownership.EXISTING:
        return
    yield from _waits_for_ever(pools, plan)
    yield from validate_documents(spec.addons, plan)


def validate_documents(addons: Addons, plan: NetworkPlan) -> Iterator[Finding]:
    """Findings about values, policy and networks that would be sent to the cluster."""
    declared = addons.network_operator
    yield from validate_secrets(declared.values, f"{ADDON}.values")
    yield from validate_secrets(declared.policy, f"{ADDON}.policy")
    yield from _driver_version(declared, plan)
    yield from _networks(declared, plan)
    made = policy(addons, plan)
    if made is not None:
        yield from _validated(made, "spec.", f"{ADDON}.policy", plan.version)
    values = network_operator_values(addons, plan)
    yield from _validated(values, "", f"{ADDON}.values", plan.version)


def _validated(document: Values, inside: str, place: str, version: str) -> Iterator[Finding]:
    # The validator loads much data and few fleets have this operator: it is imported late.
    from gpufleet.contract.programs import network_operator_values as validate
    from gpufleet.documents.document import GoDocument

    site = site_of("network-operator", version, ADDON)
    for finding in problems(validate.validate(GoDocument(document), site).findings, _CONTRACT):
        path = finding.path.removeprefix(inside)
        yield replace(finding, path=f"{place}.{path}" if path else place)


def _waits_for_ever(pools: Sequence[Pool], plan: NetworkPlan) -> Iterator[Finding]:
    """The policy is ready only while a node has an NVIDIA NIC (Mellanox/network-operator
    `pkg/state`: without such a node it is `notReady`), and nodes start after the add-ons."""
    if not plan.wait or any(nodes_exist_already(pool) for pool in rdma_pools(pools)):
        return
    made = [pool.name for pool in rdma_pools(pools)]
    if not made:
        # Nodes outside the declared pools may exist: the explicit setting states that.
        return
    yield _finding("network-policy-never-ready", ADDON, pools=made)


def _driver_version(declared: NetworkOperatorSettings, plan: NetworkPlan) -> Iterator[Finding]:
    known = plan.version.removeprefix("v") in OFED_VERSIONS
    if declared.ofed is Ofed.OPERATOR and declared.ofed_driver.version is None and not known:
        yield _finding(
            "ofed-version-unknown", ADDON, found=plan.version, ofed_versions=OFED_VERSIONS
        )


def _networks(declared: NetworkOperatorSettings, plan: NetworkPlan) -> Iterator[Finding]:
    installed = (*INSTALLED_IPAM, *sorted(plan.there - {"multus", "cniPlugins"}))
    taken: dict[tuple[str, str], str] = {}
    for path, network in all_networks(declared):
        place = f"{ADDON}.{path}"
        key = (network.namespace, network.name)
        if key in taken:
            yield _finding(
                "network-name-taken",
                place,
                taken=taken[key],
                value=network.name,
                namespace=network.namespace,
            )
        taken.setdefault(key, place)
        ipam = network.ipam.get("type")
        if ipam is not None and ipam not in installed:
            yield _finding("network-ipam-not-installed", place, value=ipam, allowed=installed)
    resources = {one.name for one in declared.sriov if one.prefix == "nvidia.com"}
    for index, network in enumerate(declared.host_device):
        if network.resource_name not in resources:
            listed = ", ".join(sorted(resources)) or "none is declared"
            yield _finding(
                "host-device-resource-unknown",
                f"{ADDON}.hostDevice[{index}]",
                value=network.resource_name,
                addon=ADDON,
                listed=listed,
            )
