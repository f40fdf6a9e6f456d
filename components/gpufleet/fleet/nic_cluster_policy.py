"""NicClusterPolicy, secondary networks and values of the Network Operator's chart, as data:
`nic_cluster_policy.yaml`."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.contract.hardened import OFED_IMAGE
from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.documents.data_files import data_part
from gpufleet.fleet.addon_plan import rdma_pools
from gpufleet.fleet.chart_values import Values, environment, merged
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import NetworkPlan, Pool
from gpufleet.spec.addons import Addons
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.images import Images
from gpufleet.spec.network_operator import (
    Network,
    NetworkOperatorSettings,
    NicSelectors,
    Ofed,
    OfedDriver,
    SriovSelectors,
)

_FILE = Path(__file__).with_suffix("")
NAME = "nic-cluster-policy"
"""The only NicClusterPolicy that the operator reconciles."""
API_VERSION = "mellanox.com/v1alpha1"
REPOSITORY = "nvcr.io/nvidia/mellanox"
OFED_VERSIONS = {"26.4.1": "doca3.4.1-26.04-1.1.0.0-1"}
"""Chart version -> version of the driver image in its release."""
NV_IPAM = "nv-ipam"
INSTALLED_IPAM = (NV_IPAM, "static", "dhcp", "host-local")
"""Address management that the policy installs: the operator's own, and that of the CNI plugins."""


def policy_spec(addons: Addons, plan: NetworkPlan) -> Values:
    """Spec of the policy; empty if no declared setting needs one."""
    declared = addons.network_operator
    sections = _sections(declared, plan, addons.images)
    if not sections and not declared.policy:
        return {}
    common = data_part(
        _FILE,
        "common",
        repository=mirrored(REPOSITORY, addons.images),
        version=plan.version.removeprefix("v"),
        secrets=_secrets(declared),
        tolerations=[GPU_TOLERATION.as_dict(), *(t.as_dict() for t in plan.tolerations)],
    )
    return merged({**common, **sections}, declared.policy)


def _secrets(declared: NetworkOperatorSettings) -> list[str] | None:
    secret = declared.image_pull_secret
    return None if secret is None else [secret]


def policy(addons: Addons, plan: NetworkPlan) -> Values | None:
    """The object, or None if no setting needs one."""
    spec = policy_spec(addons, plan)
    return _object("NicClusterPolicy", NAME, spec) if spec else None


def networks(declared: NetworkOperatorSettings) -> list[Values]:
    """The secondary networks: MacvlanNetworks, HostDeviceNetworks, IPoIBNetworks."""
    made: list[Values] = []
    for one in declared.macvlan:
        spec = {"master": one.master, "mode": one.mode.value, "mtu": one.mtu}
        made.append(_network("MacvlanNetwork", one, spec))
    for one in declared.host_device:
        made.append(_network("HostDeviceNetwork", one, {"resourceName": one.resource_name}))
    for one in declared.ipoib:
        made.append(_network("IPoIBNetwork", one, {"master": one.master}))
    return made


def all_networks(declared: NetworkOperatorSettings) -> list[tuple[str, Network]]:
    """Every declared network with its path in the section."""
    groups = {
        "macvlan": declared.macvlan,
        "hostDevice": declared.host_device,
        "ipoib": declared.ipoib,
    }
    return [(f"{key}[{i}]", one) for key, group in groups.items() for i, one in enumerate(group)]


def _sections(declared: NetworkOperatorSettings, plan: NetworkPlan, images: Images) -> Values:
    """Parts of the policy; secondary networks without the parts that the platform has already."""
    shared = [
        {
            "resourceName": one.name,
            **({} if one.prefix is None else {"resourcePrefix": one.prefix}),
            "rdmaHcaMax": one.pods_per_node,
            "selectors": _selectors(one.selectors),
        }
        for one in plan.rdma
    ]
    functions = [
        {
            "resourceName": one.name,
            "resourcePrefix": one.prefix,
            "deviceType": one.device_type.value,
            "selectors": _selectors(one.selectors),
        }
        for one in declared.sriov
    ]
    named = [one for _, one in all_networks(declared)]
    wanted = {"multus": named, "plugins": named, "ipoib": declared.ipoib}
    kinds = {"multus": "multus", "plugins": "cniPlugins", "ipoib": "ipoib"}
    parts = {key: bool(own) and kinds[key] not in plan.there for key, own in wanted.items()}
    return data_part(
        _FILE,
        "sections",
        ofed=_ofed(declared.ofed_driver, plan.version, images)
        if declared.ofed is Ofed.OPERATOR
        else None,
        shared=_json({"configList": shared}) if shared else None,
        functions=_json({"resourceList": functions}) if functions else None,
        networks=any(parts.values()),
        **parts,
        ipam=any(one.ipam.get("type") == NV_IPAM for one in named),
    )


def _ofed(driver: OfedDriver, chart: str, images: Images) -> Values:
    upgrade, drain = driver.upgrade_policy, driver.upgrade_policy.drain
    return data_part(
        _FILE,
        "ofed",
        image="doca-driver" if images.profile is None else OFED_IMAGE,
        version=driver.version or OFED_VERSIONS.get(chart.removeprefix("v")),
        env=environment(driver.env) or None,
        selector=drain.pod_selector or None,
        **driver.model_dump(include={"precompiled", "repo_config", "cert_config"}),
        **upgrade.model_dump(exclude={"drain"}),
        **drain.model_dump(exclude={"pod_selector"}),
    )


def _selectors(selectors: NicSelectors | SriovSelectors) -> Values:
    written = selectors.model_dump(mode="json", by_alias=True, exclude_none=True)
    # The plugins spell this one key differently from all others.
    spelt = {"deviceIDs" if key == "deviceIds" else key: value for key, value in written.items()}
    return {key: value for key, value in spelt.items() if value != []}


def _network(kind: str, network: Network, spec: Values) -> Values:
    written = {key: value for key, value in spec.items() if value is not None}
    if network.ipam:
        written["ipam"] = _json(network.ipam)
    return _object(kind, network.name, {"networkNamespace": network.namespace, **written})


def _object(kind: str, name: str, spec: Values) -> Values:
    return manifest(API_VERSION, kind, name, spec=spec)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=False)


PCI_CLASSES = ("02", "0200", "0207", "0300", "0302")
"""PCI classes that are labelled by vendor: network and display controllers, which identify NIC and
GPU nodes. The chart's own list has only display controllers."""


def network_operator_values(addons: Addons, plan: NetworkPlan) -> Values:
    """The values, the declared `values` merged last."""
    declared, ours = addons.network_operator, [t.as_dict() for t in plan.tolerations]
    every = [*data_part(_FILE, "worker"), GPU_TOLERATION.as_dict(), *ours]
    values = data_part(
        _FILE,
        "chart",
        discovery=plan.node_feature_discovery,
        classes=list(PCI_CLASSES),
        tolerations=every if ours else None,
        secrets=_secrets(declared),
    )
    return merged(values, declared.values)


# Requests of pods for the NICs that the Network Operator serves.

NETWORKS = "k8s.v1.cni.cncf.io/networks"
"""Annotation of a pod: networks that it joins in addition to the cluster network."""


@dataclass(frozen=True, slots=True)
class RdmaRequest:
    """Requests of a pool's pods for its NICs."""

    resources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Extended resource -> quantity."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])


def rdma_request(pool: Pool, spec: FleetSpec, plan: NetworkPlan) -> RdmaRequest:
    """The RDMA device, and the declared networks: empty for pools whose NICs gpufleet does not
    serve.

    A network of host devices takes one device of its resource for each pod. Pods join networks by
    an annotation of Multus (k8snetworkplumbingwg/multus-cni v4, "how to use"; examples of NVIDIA's
    Network Operator documentation)."""
    if not rdma_pools([pool]):
        return RdmaRequest()
    declared = spec.addons.network_operator
    taken = Counter(one.resource_name for one in declared.host_device)
    counts = {f"{one.prefix or 'rdma'}/{one.name}": 1 for one in plan.rdma}
    counts |= {f"{one.prefix}/{one.name}": max(1, taken[one.name]) for one in declared.sriov}
    joined = ", ".join(f"{one.namespace}/{one.name}" for _, one in all_networks(declared))
    return RdmaRequest(
        {name: str(count) for name, count in counts.items()},
        {NETWORKS: joined} if joined else {},
    )
