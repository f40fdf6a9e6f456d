"""What the Network Operator's definitions and webhook would refuse, and what would never be ready.

The webhook is off by default; its rules are those of `gpufleet check --as network-operator-values`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpufleet.findings import Finding, Severity, error, warning
from gpufleet.fleet.addon_plan import nodes_exist_already, rdma_pools
from gpufleet.fleet.chart_values import Values
from gpufleet.fleet.model import NetworkPlan, Pool
from gpufleet.fleet.network_operator_chart import network_operator_values
from gpufleet.fleet.nic_cluster_policy import (
    INSTALLED_IPAM,
    OFED_VERSIONS,
    all_networks,
    policy,
)
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.network_operator import NetworkOperatorSettings, Ofed
from gpufleet.spec.secrets import validate_secrets

ADDON = "addons.networkOperator"
_CONTRACT = frozenset({"network-operator-nfd-twice", "network-operator-kubernetes"})
"""What the contract check says of the whole cluster."""


def validate_network_operator(
    spec: FleetSpec, pools: Sequence[Pool], plan: NetworkPlan
) -> Iterator[Finding]:
    """Findings about chart, policy and networks; none where the operator is not gpufleet's."""
    declared = spec.addons.network_operator
    if not plan.enabled:
        if all_networks(declared) or declared.sriov or declared.rdma:
            yield error(
                "network-operator-off",
                f"{ADDON}.enabled",
                "resources or networks are declared, and the Network Operator that makes them is "
                "off: no pool has `fabric: rdma` on this platform",
                f"write {ADDON}.enabled: true",
            )
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
    # The validate reads much and few fleets have this operator: it is loaded late.
    from gpufleet.cluster.fact import Provenance, known
    from gpufleet.cluster.program import Program
    from gpufleet.cluster.site import Site
    from gpufleet.contract.programs import network_operator_values as validate
    from gpufleet.documents.document import GoDocument

    release = known(version, Provenance.DECLARED, f"{ADDON}.version")
    site = Site(programs=(Program(name="network-operator", release=release),))
    for finding in validate.validate(GoDocument(document), site).findings:
        if finding.severity is not Severity.INFO and finding.code not in _CONTRACT:
            path = finding.path.removeprefix(inside)
            yield replace(finding, path=f"{place}.{path}" if path else place)


def _waits_for_ever(pools: Sequence[Pool], plan: NetworkPlan) -> Iterator[Finding]:
    """The policy is ready only while some node has an NVIDIA NIC (Mellanox/network-operator
    `pkg/state`: no such node is `notReady`), and nodes come after the add-ons."""
    if not plan.wait or any(nodes_exist_already(pool) for pool in rdma_pools(pools)):
        return
    made = [pool.name for pool in rdma_pools(pools)]
    if not made:
        # Nodes that no pool declares may be there: the author says so by writing it.
        return
    yield error(
        "network-policy-never-ready",
        f"{ADDON}.wait",
        "a NicClusterPolicy is ready only while a node has an NVIDIA NIC, and the nodes of "
        f"{', '.join(made)} are made after the add-ons: the update would wait until it times out",
        "remove the line: the operators go on by themselves once the nodes are there",
        pools=made,
    )


def _driver_version(declared: NetworkOperatorSettings, plan: NetworkPlan) -> Iterator[Finding]:
    known = plan.version.removeprefix("v") in OFED_VERSIONS
    if declared.ofed is Ofed.OPERATOR and declared.ofed_driver.version is None and not known:
        yield error(
            "ofed-version-unknown",
            f"{ADDON}.ofedDriver.version",
            f"the DOCA-OFED version of chart {plan.version} is not known; the known charts are "
            f"{', '.join(OFED_VERSIONS)}",
            "write the version that the release notes name",
            found=plan.version,
        )


def _networks(declared: NetworkOperatorSettings, plan: NetworkPlan) -> Iterator[Finding]:
    installed = (*INSTALLED_IPAM, *sorted(plan.there - {"multus", "cniPlugins"}))
    taken: dict[tuple[str, str], str] = {}
    for path, network in all_networks(declared):
        place = f"{ADDON}.{path}"
        key = (network.namespace, network.name)
        if key in taken:
            yield error(
                "network-name-taken",
                f"{place}.name",
                f"{taken[key]} makes a NetworkAttachmentDefinition {network.name} in namespace "
                f"{network.namespace} too",
                "give each network of a namespace a name of its own",
                value=network.name,
            )
        taken.setdefault(key, place)
        ipam = network.ipam.get("type")
        if ipam is not None and ipam not in installed:
            yield warning(
                "network-ipam-not-installed",
                f"{place}.ipam.type",
                f"nothing here installs the address management {ipam}; installed are "
                f"{', '.join(installed)}",
                "write type: nv-ipam with a poolName, or see to it that the cluster has it",
                value=ipam,
                allowed=installed,
            )
    resources = {one.name for one in declared.sriov if one.prefix == "nvidia.com"}
    for index, network in enumerate(declared.host_device):
        if network.resource_name not in resources:
            listed = ", ".join(sorted(resources)) or "none is declared"
            yield error(
                "host-device-resource-unknown",
                f"{ADDON}.hostDevice[{index}].resourceName",
                f"no resource nvidia.com/{network.resource_name} is in {ADDON}.sriov "
                f"({listed}): pods of this network would stay Pending",
                f"declare it in {ADDON}.sriov, with the prefix nvidia.com",
                value=network.resource_name,
            )
