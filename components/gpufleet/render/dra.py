"""Claims in place of plugin resources: DeviceClasses, claim templates, shared claims, configs.

Formats: `objects/dra.yaml`, in a beta version of resource.k8s.io on Kubernetes before 1.34.
Whole GPUs use the class of the driver's chart, which answers `nvidia.com/gpu`; a second class with
that name would take it over, so none is made.
"""

import json
from typing import Any

from gpufleet.contract.dra import fleet_claims_api
from gpufleet.contract.dra_api import GROUP
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.cut_over import claim_cuts, pool_claims
from gpufleet.fleet.manifest import Manifest, manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.partition.dra_needs import NeededDevices
from gpufleet.partition.dra_offers import DRIVER, DraOffer
from gpufleet.partition.shares import MIB
from gpufleet.render.data_files import data_part
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.device_needs import DeviceNeed, DeviceToleration, DraSharing, NvlinkReach

API = "resource.k8s.io/v1"
"""API version in which objects are made, before `_as_served` converts them."""
CONFIG_API = "resource.nvidia.com/v1beta1"
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
"""Attribute of Kubernetes' own domain that the driver publishes of GPUs and MIG devices."""
MOST_SHARED_CLAIMS = 256
"""Shared claims rendered for one kind of device of a pool at most."""


def device_classes(fleet: Fleet) -> list[Manifest]:
    """One DeviceClass for each MIG profile that a pool serves, by name.

    A class is cluster-wide: it has its classic name if at least one pool declares this.
    """
    offers: dict[str, DraOffer] = {}
    for _, made in claim_cuts(fleet):
        for offer in made.offers:
            if offer.profile is not None and (
                offer.device_class not in offers or offer.extended_resource is not None
            ):
                offers[offer.device_class] = offer
    api = fleet_claims_api(fleet.spec)
    return [_as_served(_device_class(offer), api) for _, offer in sorted(offers.items())]


def _device_class(offer: DraOffer) -> Manifest:
    expression, resource = _of_profile(offer.profile), offer.extended_resource
    spec = data_part("dra", "deviceClass", expression=expression, resource=resource)
    return manifest(API, "DeviceClass", offer.device_class, spec=spec)


def claims(fleet: Fleet) -> list[Manifest]:
    """ResourceClaimTemplates of every pool, and ResourceClaims where pods share one, by namespace.

    Shared claims for a kind of device: one for each device of the pool's smallest size, at least of
    one node.
    """
    found: list[Manifest] = []
    for pool, made in claim_cuts(fleet):
        for namespace in made.namespaces:
            for need in (*(_need(pool, offer) for offer in made.offers), *made.needs):
                if not need.shared_claims:
                    found.append(_claim_template(pool, need, namespace))
                # Pods that name one claim share its devices according to its configuration.
                found += [
                    manifest(
                        API,
                        "ResourceClaim",
                        f"{claim_name(pool, need)}-{number}",
                        namespace,
                        {POOL_LABEL: pool.name},
                        spec=_claim_spec(need),
                    )
                    for number in range(need.shared_claims)
                ]
    api = fleet_claims_api(fleet.spec)
    return [_as_served(manifest, api) for manifest in found]


def _as_served(manifest: Manifest, api: str) -> Manifest:
    """The object in another version of the API. In v1beta1 the fields of `exactly` are those of
    the request; the other fields used here are equal (k8s.io/api v0.32.3, v0.33.3
    `resource/v1beta1/types.go`, `v1beta2/types.go`)."""
    made = {**manifest, "apiVersion": api}
    if api.endswith("/v1beta1") and manifest["kind"] != "DeviceClass":
        template = manifest["kind"] == "ResourceClaimTemplate"
        spec = manifest["spec"]["spec"] if template else manifest["spec"]
        requests = [
            {**request, **request.get("exactly", {})} for request in spec["devices"]["requests"]
        ]
        for request in requests:
            request.pop("exactly", None)
        spec = {**spec, "devices": {**spec["devices"], "requests": requests}}
        made["spec"] = {"spec": spec} if template else spec
    return made


def compute_domains(fleet: Fleet) -> list[Manifest]:
    """A ComputeDomain in each namespace of the pools that declare one.

    The driver's controller makes its claim template.
    """
    return [
        manifest(
            CONFIG_API,
            "ComputeDomain",
            f"{pool.name}-domain",
            namespace,
            {POOL_LABEL: pool.name},
            spec=data_part("dra", "domain", channel=channel_name(pool)),
        )
        for pool, made in claim_cuts(fleet)
        if made.compute_domain
        for namespace in made.namespaces
    ]


def acceptance_claims(fleet: Fleet, pool: Pool, namespace: str) -> list[Manifest]:
    """A claim template for each kind of device of a pool, in another namespace than its pods."""
    api, made = fleet_claims_api(fleet.spec), pool.partition.dra
    offers = () if made is None else made.offers
    return [
        _as_served(_claim_template(pool, _need(pool, offer), namespace), api) for offer in offers
    ]


def channel_name(pool: Pool) -> str:
    """Claim template by which a pod gets a channel of the pool's ComputeDomain."""
    return f"{pool.name}-channel"


def _claim_template(pool: Pool, need: NeededDevices, namespace: str) -> Manifest:
    """A template: each pod that names it gets its own devices."""
    spec, labels = {"spec": _claim_spec(need)}, {POOL_LABEL: pool.name}
    name = claim_name(pool, need)
    return manifest(API, "ResourceClaimTemplate", name, namespace, labels, spec=spec)


def _need(pool: Pool, claimed: DraOffer | NeededDevices) -> NeededDevices:
    """A claim for one device of a kind, as one that needs nothing more of it."""
    if isinstance(claimed, NeededDevices):
        return claimed
    made, name = pool_claims(pool), "gpu"
    assert made is not None
    if claimed.profile is not None:
        plain = claimed.profile.replace(".", "-").replace("+", "-").replace(",", "-")
        name = f"mig-{plain}"
    devices = claimed.per_node * max(1, pool.nodes.minimum)
    return NeededDevices(
        asked=DeviceNeed(name=name),
        mig=claimed.profile is not None,
        device_class=claimed.device_class,
        product_names=pool.gpu.product_names,
        sharing=made.sharing,
        shared_claims=0 if made.clients == 1 else min(devices, MOST_SHARED_CLAIMS),
        offers=(claimed,),
    )


def claim_name(pool: Pool, claimed: DraOffer | NeededDevices) -> str:
    """`training-gpu`, `notebooks-mig-1g-10gb`, `training-pair`: at most 104 characters."""
    return f"{pool.name}-{_need(pool, claimed).asked.name}"


def pod_claim(pool: Pool, claimed: DraOffer | NeededDevices) -> dict[str, Any]:
    """Fields of a pod in the claim's namespace: `resourceClaims` of its spec, and `claims` of its
    container's resources."""
    made, need = pool.partition.dra, _need(pool, claimed)
    assert made is not None
    name = claim_name(pool, need)
    if need.shared_claims:
        asked = {"gpu": {"resourceClaimName": f"{name}-0"}}
    else:
        asked = {"gpu": {"resourceClaimTemplateName": name}}
    if made.channel_for_all or need.asked.nvlink is NvlinkReach.DOMAIN:
        asked["channel"] = {"resourceClaimTemplateName": channel_name(pool)}
    return {
        "resourceClaims": [{"name": name, **one} for name, one in asked.items()],
        "resources": {"claims": [{"name": name} for name in asked]},
    }


def _config(need: NeededDevices) -> dict[str, Any] | None:
    """GpuConfig or MigDeviceConfig of shared devices, with limits for the smallest that meets the
    need."""
    sharing, limits = need.sharing, None
    if sharing.mode is DraSharing.EXCLUSIVE:
        return None
    mps = sharing.mode is DraSharing.MPS
    if mps:
        known = [offer.memory_bytes for offer in need.offers if offer.memory_bytes is not None]
        memory = sharing.division.share_memory(min(known, default=None))
        pinned = f"{memory // MIB}Mi" if memory is not None and memory >= MIB else None
        limits = data_part("dra", "mps", threads=sharing.division.share_threads, memory=pinned)
    return data_part(
        "dra",
        "sharing",
        kind="MigDeviceConfig" if need.mig else "GpuConfig",
        strategy="MPS" if mps else "TimeSlicing",
        limits=limits,
        interval=None if mps or need.mig else sharing.interval,
    )


def _claim_spec(need: NeededDevices) -> dict[str, Any]:
    request: dict[str, Any] = {"name": "gpu"}
    more = _terms(need)
    if need.choices:
        request["firstAvailable"] = [
            {"name": f"choice-{number}", **_asked(one), **more}
            for number, one in enumerate(need.choices, 1)
        ]
    else:
        admin = {"adminAccess": True} if need.asked.admin_access else {}
        request["exactly"] = {**_asked(need), **more, **admin}
    paired = {"requests": ["gpu"], "matchAttribute": PCIE_ROOT}
    config = _config(need)
    opaque = {"requests": ["gpu"], "opaque": {"driver": DRIVER, "parameters": config}}
    return {
        "devices": data_part(
            "dra",
            "devices",
            request=request,
            constraints=[paired] if need.asked.same_pcie_root else None,
            config=None if config is None else [opaque],
        )
    }


def _asked(need: NeededDevices) -> dict[str, Any]:
    return {
        "deviceClassName": need.device_class,
        "selectors": [{"cel": {"expression": _of_need(need)}}],
        "allocationMode": "ExactCount",
        "count": need.asked.count,
    }


def _terms(need: NeededDevices) -> dict[str, Any]:
    """Tolerations of taints, and the part of each device."""
    tolerations = [_toleration(one) for one in need.asked.tolerations] or None
    return data_part("dra", "terms", tolerations=tolerations, memory=need.asked.share_memory_mib)


def _toleration(written: DeviceToleration) -> dict[str, Any]:
    operator = "Exists" if written.value is None else "Equal"
    effect = written.effect and written.effect.value
    fields = {**dict(written), "operator": operator, "effect": effect}
    return data_part("dra", "toleration", **fields)


def device_taint_rules(fleet: Fleet) -> list[Manifest]:
    """DeviceTaintRules of the declaration, in the newest version that the cluster serves: v1 from
    Kubernetes 1.37, v1beta2 in 1.36, v1alpha3 before (k8s.io/api v0.33.13 to v0.37.0, resource)."""
    minor = minor_of(fleet.spec.cluster.kubernetes_version)
    version = "v1" if minor >= (1, 37) else "v1beta2" if minor >= (1, 36) else "v1alpha3"
    rules: list[Manifest] = []
    for one in fleet.spec.addons.dra_driver.device_taints:
        fields = {**dict(one), "value": one.value or None, "effect": one.effect.value}
        spec = data_part("dra", "taint", **fields)
        rules.append(manifest(f"{GROUP}{version}", "DeviceTaintRule", one.name, spec=spec))
    return rules


def _of_profile(profile: str | None) -> str:
    assert profile is not None
    attributes = f"device.attributes['{DRIVER}']"
    return (
        f"device.driver == '{DRIVER}' && {attributes}.type == 'mig' && "
        f"{attributes}.profile == '{profile}'"
    )


def _of_need(need: NeededDevices) -> str:
    """The boards, because another pool of the cluster may serve another model, and the conditions
    on each device. A profile is in the selector too, because other pools can serve its class with
    other boards, and the class of all MIG devices."""
    names, asked = json.dumps(list(need.product_names)), need.asked
    terms = [f"device.attributes['{DRIVER}'].productName in {names}"]
    if asked.profile is not None:
        terms.append(f"device.attributes['{DRIVER}'].profile == '{asked.profile}'")
    if asked.memory_mib is not None:
        least = f"quantity('{asked.memory_mib}Mi')"
        terms.append(f"device.capacity['{DRIVER}'].memory.compareTo({least}) >= 0")
    if asked.multiprocessors is not None:
        least = f"quantity('{asked.multiprocessors}')"
        terms.append(f"device.capacity['{DRIVER}'].multiprocessors.compareTo({least}) >= 0")
    return " && ".join(terms)
