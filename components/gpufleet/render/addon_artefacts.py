"""Files of the add-ons next to the GPU Operator, for sites that apply them by another tool."""

from collections.abc import Iterator

from gpufleet.documents.writing import yaml_stream, yaml_text
from gpufleet.fleet.model import NETWORK_OPERATOR, Fleet
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.device_plugin_values import plugin_release_values
from gpufleet.render.gpu_operator_values import plugin_files
from gpufleet.render.manifests import config_map
from gpufleet.render.network_operator import (
    network_namespace,
    network_release_values,
    nic_cluster_policy,
    secondary_networks,
)
from gpufleet.render.neuron_values import CHART, neuron_release_values
from gpufleet.spec.base import Ownership


def network_operator_files(fleet: Fleet) -> Iterator[Artefact]:
    """Namespace, policy, networks and chart values of the Network Operator."""
    plan = fleet.addons.network_operator
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    folder = "manifests/network-operator"
    by_chart = fleet.addons.subscription(NETWORK_OPERATOR) is None
    if by_chart:
        yield Artefact(
            f"{folder}/namespace.yaml",
            ArtefactKind.MANIFEST,
            "namespace of the Network Operator, which admits privileged pods",
            yaml_text(network_namespace(fleet)),
        )
    policy, networks = nic_cluster_policy(fleet), secondary_networks(fleet)
    if policy is not None:
        yield Artefact(
            f"{folder}/nic-cluster-policy.yaml",
            ArtefactKind.MANIFEST,
            "NicClusterPolicy: NIC driver, RDMA and SR-IOV resources, what networks need",
            yaml_text(policy, "Apply when the operator runs, and before any network."),
        )
    if networks:
        yield Artefact(
            f"{folder}/networks.yaml",
            ArtefactKind.MANIFEST,
            "secondary networks for pods; apply when the NicClusterPolicy is ready",
            yaml_stream(networks),
        )
    if not by_chart:
        return
    yield Artefact(
        "values/network-operator.yaml",
        ArtefactKind.VALUES,
        f"values of the chart network-operator {plan.version}, namespace {plan.namespace}",
        yaml_text(
            network_release_values(fleet),
            f"Chart network-operator {plan.version}, namespace {plan.namespace}.\n"
            "Install it before the GPU Operator.",
        ),
    )


def neuron_files(fleet: Fleet) -> Iterator[Artefact]:
    """Values of Neuron's chart."""
    plan = fleet.addons.neuron
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    yield Artefact(
        "values/neuron.yaml",
        ArtefactKind.VALUES,
        f"values of the chart {CHART} {plan.version}, namespace {plan.namespace}",
        yaml_text(neuron_release_values(fleet)),
    )


def plugin_chart_files(fleet: Fleet) -> Iterator[Artefact]:
    """ConfigMap and values of the device plugin's own chart."""
    plan = fleet.addons.device_plugin
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    files = plugin_files(fleet)
    manifest = config_map(fleet, files)
    manifest["metadata"]["namespace"] = plan.namespace
    yield Artefact(
        "manifests/nvidia-device-plugin/device-plugin.yaml",
        ArtefactKind.MANIFEST,
        "ConfigMap with the ways of sharing of all pools, for the device plugin's own chart",
        yaml_text(manifest),
    )
    yield Artefact(
        "values/nvidia-device-plugin.yaml",
        ArtefactKind.VALUES,
        f"values of the chart nvidia-device-plugin {plan.version}, namespace {plan.namespace}",
        yaml_text(
            plugin_release_values(fleet, files.name),
            f"Chart nvidia-device-plugin {plan.version}, namespace {plan.namespace}, which must "
            "admit privileged pods.\nApply manifests/nvidia-device-plugin first: the values name "
            "its ConfigMap.",
        ),
    )
