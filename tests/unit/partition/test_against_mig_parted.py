"""NVIDIA's own default configurations, where a copy of the file is at hand."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import Gpu, load
from gpufleet.partition.placement import MigPlacement, place
from gpufleet.partition.presets import resolve_presets
from gpufleet.spec.sharing import Mig, Sharing
from tests.reading import yaml_data

FILE = Path(__file__).parents[4] / "shared/reference/charts/mig-parted-v0.15.0.config-default.yaml"
GPUS = [gpu for gpu in load().gpus.values() if gpu.mig is not None]


def entries() -> list[tuple[str, dict[str, Any]]]:
    if not FILE.exists():
        pytest.skip(f"no copy of mig-parted's default configuration at {FILE.name}")
    document = yaml_data(FILE.read_text(encoding="utf-8"))
    return [
        (name, entry)
        for name, config in document["mig-configs"].items()
        for entry in config
        if entry.get("mig-devices")
    ]


def chosen(entry: dict[str, Any]) -> list[Gpu]:
    """GPUs a filter names, or every GPU that has all the profiles."""
    wanted = entry.get("device-filter")
    if wanted is None:
        return [
            g
            for g in GPUS
            if g.mig is not None and entry["mig-devices"].keys() <= g.mig.profiles.keys()
        ]
    wanted = {wanted} if isinstance(wanted, str) else set(wanted)
    return [gpu for gpu in GPUS if wanted & set(gpu.pci_device_ids)]


def test_every_default_layout_can_be_placed_on_the_gpus_it_is_for() -> None:
    checked: Counter[str] = Counter()
    for name, entry in entries():
        for gpu in chosen(entry):
            assert gpu.mig is not None
            if name == "all-balanced":
                assert dict(gpu.mig.balanced) == entry["mig-devices"], gpu.key
            if "device-filter" in entry:
                sharing, unknown = resolve_presets(gpu, Sharing(mig=Mig(layout=name)), "sharing")
                assert not unknown, (name, gpu.key)
                assert sharing.mig is not None
                ((_, devices),) = [(one.gpus, one.devices) for one in sharing.mig.layouts]
                named = {
                    gpu.mig.alternate_names.get(k, k): v for k, v in entry["mig-devices"].items()
                }
                assert devices == named, (name, gpu.key)
            resolved = {
                gpu.mig.alternate_names.get(profile, profile): count
                for profile, count in entry["mig-devices"].items()
            }
            if not resolved.keys() <= gpu.mig.profiles.keys():
                continue
            answer = place(gpu.mig, resolved)
            if "device-filter" in entry:
                assert isinstance(answer, MigPlacement), (name, gpu.key, answer)
            checked[name] += isinstance(answer, MigPlacement)
    assert checked["all-balanced"] >= 10
    assert len([name for name, count in checked.items() if count]) >= 60


def test_a_full_layout_of_one_profile_cannot_take_one_more() -> None:
    for name, entry in entries():
        for gpu in chosen(entry) if "device-filter" in entry and name != "all-balanced" else []:
            assert gpu.mig is not None
            ((profile, count),) = entry["mig-devices"].items()
            if profile in gpu.mig.profiles:
                assert gpu.mig.profiles[profile].max_instances == count, (name, gpu.key)
                answer = place(gpu.mig, {profile: count + 1})
                assert not isinstance(answer, MigPlacement)
