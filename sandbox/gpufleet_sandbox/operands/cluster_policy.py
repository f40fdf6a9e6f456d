"""Settings that the operands read from the ClusterPolicy, with the operator's defaults."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CLUSTER_POLICY_NAME = "cluster-policy"
"""The chart makes one of this name; others are ignored, as the operator ignores a second one."""


@dataclass(frozen=True, slots=True)
class ClusterPolicy:
    """The parts of the spec that decide what happens on a node."""

    driver_enabled: bool
    driver_version: str
    toolkit_enabled: bool
    mig_strategy: str
    """`none`, `single`, `mixed`; empty: not exported, the config file decides."""
    device_plugin_enabled: bool
    device_plugin_config: str
    """ConfigMap name; empty: no config file."""
    device_plugin_default: str
    """Key for nodes without the label; empty: nothing is applied to them."""
    mps_root: str
    feature_discovery_enabled: bool
    mig_manager_enabled: bool
    mig_config: str
    """ConfigMap name; empty: configs generated for each node."""
    mig_default: str
    with_reboot: bool
    sandbox_workloads: bool
    default_workload: str
    mig_manager_fingerprint: str
    """Changes when mig-manager's pods would be replaced."""
    device_plugin_fingerprint: str
    """Changes when the plugin's or GFD's pods would be replaced."""


def read_cluster_policy(data: Mapping[str, Any]) -> ClusterPolicy:
    """Read a ClusterPolicy object as the API server returns it."""
    spec = data.get("spec", {})
    driver, toolkit = spec.get("driver", {}), spec.get("toolkit", {})
    plugin, manager = spec.get("devicePlugin", {}), spec.get("migManager", {})
    discovery, workloads = spec.get("gfd", {}), spec.get("sandboxWorkloads", {})
    environment = {item["name"]: str(item.get("value", "")) for item in manager.get("env", [])}
    strategy = spec.get("mig", {}).get("strategy", "")
    return ClusterPolicy(
        driver_enabled=driver.get("enabled", True),
        driver_version=str(driver.get("version", "")),
        toolkit_enabled=toolkit.get("enabled", True),
        mig_strategy=strategy,
        device_plugin_enabled=plugin.get("enabled", True),
        device_plugin_config=plugin.get("config", {}).get("name", ""),
        device_plugin_default=plugin.get("config", {}).get("default", ""),
        mps_root=plugin.get("mps", {}).get("root", "/run/nvidia/mps"),
        feature_discovery_enabled=discovery.get("enabled", True),
        mig_manager_enabled=manager.get("enabled", True),
        mig_config=manager.get("config", {}).get("name", ""),
        mig_default=manager.get("config", {}).get("default", "all-disabled"),
        with_reboot=environment.get("WITH_REBOOT", "").lower() == "true",
        sandbox_workloads=workloads.get("enabled", False),
        default_workload=workloads.get("defaultWorkload", "container"),
        mig_manager_fingerprint=_fingerprint(manager),
        device_plugin_fingerprint=_fingerprint([plugin, discovery, strategy]),
    )


def _fingerprint(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
