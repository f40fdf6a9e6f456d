"""NicClusterPolicy, secondary networks and values of the Network Operator's chart, as data.

Kinds of `mellanox.com/v1alpha1`: Mellanox/network-operator v26.4.1 `api/v1alpha1`; images:
`hack/release.yaml` of the same release; keys and defaults of the chart, which has no values schema:
`deployment/network-operator/values.yaml` (read 2026-11-21).
"""

import json
from typing import Any

from gpufleet.contract.hardened import OFED_IMAGE
from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.fleet.chart_values import Values, environment, merged
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import NetworkPlan
from gpufleet.spec.addons import Addons
from gpufleet.spec.images import Images
from gpufleet.spec.network_operator import (
    Network,
    NetworkOperatorSettings,
    NicSelectors,
    Ofed,
    OfedDriver,
    SriovSelectors,
)

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
    common: Values = {
        "repository": mirrored(REPOSITORY, addons.images),
        "version": f"network-operator-v{plan.version.removeprefix('v')}",
    }
    if declared.image_pull_secret is not None:
        common["imagePullSecrets"] = [declared.image_pull_secret]
    tolerations = [GPU_TOLERATION.as_dict(), *(t.as_dict() for t in plan.tolerations)]
    spec = {"global": common, "tolerations": tolerations, **sections}
    return merged(spec, declared.policy)


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
    sections: Values = {}
    if declared.ofed is Ofed.OPERATOR:
        sections["ofedDriver"] = _ofed(declared.ofed_driver, plan.version)
        if images.profile is not None:
            sections["ofedDriver"]["image"] = OFED_IMAGE
    if plan.rdma:
        shared = [
            {
                "resourceName": one.name,
                **({"resourcePrefix": one.prefix} if one.prefix is not None else {}),
                "rdmaHcaMax": one.pods_per_node,
                "selectors": _selectors(one.selectors),
            }
            for one in plan.rdma
        ]
        sections["rdmaSharedDevicePlugin"] = {
            "image": "k8s-rdma-shared-dev-plugin",
            "config": _json({"configList": shared}),
        }
    if declared.sriov:
        functions = [
            {
                "resourceName": one.name,
                "resourcePrefix": one.prefix,
                "deviceType": one.device_type.value,
                "selectors": _selectors(one.selectors),
            }
            for one in declared.sriov
        ]
        sections["sriovDevicePlugin"] = {
            "image": "sriov-network-device-plugin",
            "config": _json({"resourceList": functions}),
        }
    named = [one for _, one in all_networks(declared)]
    images_of = {"multus": "multus-cni", "cniPlugins": "plugins"} if named else {}
    if declared.ipoib:
        images_of["ipoib"] = "ipoib-cni"
    missing = {part: {"image": name} for part, name in images_of.items() if part not in plan.there}
    if missing:
        sections["secondaryNetwork"] = missing
    if any(one.ipam.get("type") == NV_IPAM for one in named):
        sections["nvIpam"] = {"image": "nvidia-k8s-ipam", "enableWebhook": False}
    return sections


def _ofed(driver: OfedDriver, chart: str) -> Values:
    upgrade, drain = driver.upgrade_policy, driver.upgrade_policy.drain
    section: Values = {
        "image": "doca-driver",
        "forcePrecompiled": driver.precompiled,
        "upgradePolicy": {
            "autoUpgrade": upgrade.auto_upgrade,
            "maxParallelUpgrades": upgrade.max_parallel_upgrades,
            "safeLoad": upgrade.safe_load,
            "drain": {
                "enable": drain.enabled,
                "force": drain.force,
                "timeoutSeconds": drain.timeout_seconds,
                "deleteEmptyDir": drain.delete_empty_dir,
                **({"podSelector": drain.pod_selector} if drain.pod_selector else {}),
            },
        },
    }
    version = driver.version or OFED_VERSIONS.get(chart.removeprefix("v"))
    if version is not None:
        section["version"] = version
    if driver.env:
        section["env"] = environment(driver.env)
    for key, name in (("repoConfig", driver.repo_config), ("certConfig", driver.cert_config)):
        if name is not None:
            section[key] = {"name": name}
    return section


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


_CONTROL_PLANE = [
    {"key": f"node-role.kubernetes.io/{role}", "operator": "Exists", "effect": "NoSchedule"}
    for role in ("master", "control-plane")
]
PCI_CLASSES = ("02", "0200", "0207", "0300", "0302")
"""PCI classes that are labelled by vendor: network and display controllers, which identify NIC and
GPU nodes. The chart's own list has only display controllers."""


def network_operator_values(addons: Addons, plan: NetworkPlan) -> Values:
    """The values, the declared `values` merged last."""
    declared = addons.network_operator
    values: Values = {
        "nfd": {"enabled": plan.node_feature_discovery, "deployNodeFeatureRules": True},
        "sriovNetworkOperator": {"enabled": False},
        "maintenanceOperator": {"enabled": False},
    }
    if plan.node_feature_discovery:
        worker: Values = {
            "config": {
                "sources": {
                    "pci": {
                        "deviceClassWhitelist": list(PCI_CLASSES),
                        "deviceLabelFields": ["vendor"],
                    }
                }
            }
        }
        if plan.tolerations:
            # Lists replace those of the chart: the chart's own entries are written again.
            ours = [t.as_dict() for t in plan.tolerations]
            worker["tolerations"] = [*_CONTROL_PLANE, GPU_TOLERATION.as_dict(), *ours]
        values["node-feature-discovery"] = {"worker": worker}
    if declared.image_pull_secret is not None:
        values["imagePullSecrets"] = [declared.image_pull_secret]
    return merged(values, declared.values)
