"""MIG layouts by the names of NVIDIA's default mig-parted configuration, such as `all-balanced`.

Source: NVIDIA/mig-parted v0.15.0 `deployments/systemd/config-default.yaml`, and `pkg/mig/builder`
for the names that mig-manager makes from the profiles of the driver.
"""

from gpufleet.catalogue.gpu import Gpu, MigGeometry
from gpufleet.findings import Finding, findings_in
from gpufleet.partition.profile_name import similar
from gpufleet.spec.sharing import Dra, Mig, MigLayout, Sharing

_finding = findings_in(__file__)

ENABLED = "all-enabled"
PREFIX = "all-"


def resolve_presets(gpu: Gpu, sharing: Sharing, path: str) -> tuple[Sharing, list[Finding]]:
    """The sharing with the devices that its preset gives this GPU; findings if it gives none.

    A sharing without a preset, or on a GPU without MIG, is returned as it is. `path` is the place
    of the sharing in the declaration.
    """
    part: Mig | Dra | None = sharing.mig or sharing.dra
    if part is None or part.layout is None or part.layouts or gpu.mig is None:
        return sharing, []
    field = "mig" if isinstance(part, Mig) else "dra"
    presets = _presets(gpu.mig)
    devices = presets.get(part.layout)
    if devices is None:
        return sharing, [_unknown(gpu, gpu.mig, part.layout, f"{path}.{field}.layout")]
    resolved = part.model_copy(update={"layouts": (MigLayout(devices=devices),)})
    return sharing.model_copy(update={field: resolved}), []


def _presets(geometry: MigGeometry) -> dict[str, dict[str, int]]:
    names = {profile.label: profile for profile in geometry.profiles.values()}
    for other, own in geometry.alternate_names.items():
        names.setdefault(other.replace("+", "."), geometry.profiles[own])
    return {
        "all-disabled": {},
        "all-balanced": dict(geometry.balanced),
        **{f"{PREFIX}{label}": {p.name: p.max_instances} for label, p in names.items()},
    }


def _unknown(gpu: Gpu, geometry: MigGeometry, name: str, path: str) -> Finding:
    presets = _presets(geometry)
    if name == ENABLED:
        return _finding(
            "mig-preset-unknown/enabled",
            path,
            enabled=ENABLED,
            gpu=gpu.key,
            value=name,
            limit=presets,
        )
    near = similar(name.removeprefix(PREFIX).replace(".me", "+me"), geometry.profiles, 1)
    best = f"{PREFIX}{geometry.profiles[near[0]].label}" if near else "all-balanced"
    return _finding("mig-preset-unknown", path, gpu=gpu.key, value=name, limit=presets, best=best)
