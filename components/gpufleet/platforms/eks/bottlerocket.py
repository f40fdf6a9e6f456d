"""Bottlerocket's own settings for GPUs and EFA: its device plugin is a service of the image, which
reads settings, not a ConfigMap.

Sources: bottlerocket-os/bottlerocket PR 4230 (time-slicing, 1.25.0), PR 4418 (MIG, 1.34.0: every
GPU filled with one profile, advertised as `nvidia.com/gpu`), bottlerocket-os/bottlerocket-core-kit
`sources/nvidia-migmanager` (the GPUs it partitions); Amazon EKS user guide `node-efa` (EFA from
1.28.0, huge pages as a kernel setting). Read 2026-11-23.
"""

import json
import re
from collections.abc import Iterator

from gpufleet.catalogue import InstanceType
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.kubelet import manager_policies
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.efa import EFA_PAGES, node_huge_pages
from gpufleet.platforms.eks.shape import runs_bottlerocket
from gpufleet.spec.pool import GpuPool
from gpufleet.spec.sharing import MigStrategy, Sharing

_rules = rules_in(__file__)

KUBERNETES = "[settings.kubernetes]"
"""Header of the table that `kubelet_settings` belongs to."""
FAMILY = "bottlerocket-nvidia"
"""Prefix of the keys of its images with a device plugin."""

MIG_MODELS = ("A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB")
"""GPUs that it partitions, by their names in the catalogue."""

_RELEASE = re.compile(r"^([0-9]+)\.([0-9]+)\.")


def shares_by_settings(pool: GpuPool) -> bool:
    """Whether the image's own plugin shares or partitions the pool's GPUs."""
    named = pool.image is not None and pool.image.startswith(FAMILY)
    return named and (pool.sharing.time_slicing is not None or pool.sharing.mig is not None)


def as_published(sharing: Sharing) -> Sharing:
    """The same sharing under the names of the image's plugin, which has no separate resource for
    each profile."""
    if sharing.mig is None:
        return sharing
    single = sharing.mig.model_copy(update={"strategy": MigStrategy.SINGLE})
    return sharing.model_copy(update={"mig": single})


def validate_bottlerocket_sharing(
    pool: GpuPool, path: str, machine: InstanceType | None
) -> list[Finding]:
    """Findings about partitions that the image's MIG manager does not support."""
    mig = pool.sharing.mig
    if not shares_by_settings(pool) or mig is None or machine is None:
        return []
    profiles = sorted({profile for layout in mig.layouts for profile in layout.devices})
    covered = [layout.gpus for layout in mig.layouts]
    whole = covered == ["all"] or sum(n for n in covered if isinstance(n, int)) == (
        machine.accelerator.count
    )
    known = {"profiles": profiles, "whole": whole, "models": sorted(MIG_MODELS)}
    place = f"{path}.sharing.mig.layouts"
    return list(_rules("bottlerocket-mig", place, gpu=machine.accelerator.gpu, **known))


def validate_bottlerocket(pool: Pool) -> Iterator[Finding]:
    """Findings about a compiled pool: partitions that do not fill the GPU, old releases."""
    if not runs_bottlerocket(pool):
        return
    yield from _not_full(pool)
    written = None if pool.spec.eks is None else pool.spec.eks.release_version
    found = None if written is None else _RELEASE.match(written)
    release = None if found is None else (int(found[1]), int(found[2]))
    known = {"release": release, "shared": shares_by_settings(pool.spec)}
    paged = bool(node_huge_pages(pool))
    yield from _rules("bottlerocket", pool.path, pool=pool, paged=paged, **known)


def _not_full(pool: Pool) -> Iterator[Finding]:
    mig, geometry = pool.spec.sharing.mig, pool.gpu.mig
    if not shares_by_settings(pool.spec) or mig is None or geometry is None:
        return
    if len({name for layout in mig.layouts for name in layout.devices}) != 1:
        return  # refused already
    for index, layout in enumerate(mig.layouts):
        for name, count in layout.devices.items():
            profile = geometry.profiles.get(name)
            if profile is not None and count != profile.max_instances:
                place = f'{pool.path}.sharing.mig.layouts[{index}].devices["{name}"]'
                yield from _rules("layout", place, name=name, profile=profile, count=count)


def kubelet_settings(pool: Pool) -> list[str]:
    """Lines of the table `settings.kubernetes` for the kubelet's managers.

    Source: bottlerocket-os/bottlerocket-settings-sdk `bottlerocket-settings-models`, kubernetes.
    """
    declared = pool.spec.kubelet
    fields = {} if declared is None else manager_policies(declared)
    names = {
        "cpuManagerPolicy": "cpu-manager-policy",
        "topologyManagerPolicy": "topology-manager-policy",
        "topologyManagerScope": "topology-manager-scope",
        "podPidsLimit": "pod-pids-limit",
    }
    return [f"{names[key]} = {json.dumps(value)}" for key, value in fields.items()]


def image_settings(pool: Pool) -> list[str]:
    """Lines of TOML of a node whose address of the cluster another part of the user data has."""
    settings, kubelet = bottlerocket_settings(pool), kubelet_settings(pool)
    if not kubelet:
        return settings
    return [*settings, *([""] if settings else []), KUBERNETES, *kubelet]


def bottlerocket_settings(pool: Pool) -> list[str]:
    """Lines of TOML: huge pages of nodes with EFA, sharing of the GPUs by the image's plugin."""
    lines: list[str] = []
    if node_huge_pages(pool):
        lines += ["[settings.kernel.sysctl]", f'"vm.nr_hugepages" = "{EFA_PAGES}"']
    if not shares_by_settings(pool.spec):
        return lines
    sharing = pool.spec.sharing
    turns = sharing.time_slicing or (None if sharing.mig is None else sharing.mig.time_slicing)
    plugin = "settings.kubelet-device-plugins.nvidia"
    lines += [*([""] if lines else []), f"[{plugin}]"]
    if sharing.mig is not None:
        lines.append('device-partitioning-strategy = "mig"')
    if turns is not None:
        lines += [
            'device-sharing-strategy = "time-slicing"',
            "",
            f"[{plugin}.time-slicing]",
            f"replicas = {turns.replicas}",
            f"rename-by-default = {str(turns.rename).lower()}",
            f"fail-requests-greater-than-one = {str(turns.fail_requests_greater_than_one).lower()}",
        ]
    if sharing.mig is not None:
        (profile,) = {name for layout in sharing.mig.layouts for name in layout.devices}
        model = pool.gpu.key.lower().replace("-", ".")  # a100.40gb
        lines += ["", f"[{plugin}.mig.profile]", f'"{model}" = "{profile}"']
    return lines
