"""Names as NVIDIA's tools, clouds and hypervisors print them: one row, or refused.

`printed_names.jsonl` has each name with the program that prints it, its GPU, and the source;
without GPU: no row has the name, and it must be refused.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import Catalogue, UnknownKeyError, load
from gpufleet.findings import has_errors
from gpufleet.partition.partition import cut
from gpufleet.partition.validation import validate_layout
from gpufleet.partition.vgpu import boards_of
from gpufleet.spec.sharing import Sharing

FILE = Path(__file__).parent / "printed_names.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def meant(row: dict[str, Any], catalogue: Catalogue) -> str | None:
    """The GPU that a name leads to; None where it is refused."""
    name = row["printed"]
    if row["by"] == "mig":
        gpu = catalogue.gpu(row["on"])
        profile = name.removeprefix("MIG ")
        known = {*gpu.mig_published, *(gpu.mig.alternate_names if gpu.mig else ())}
        _, findings = validate_layout(gpu, {profile: 1}, "want")
        return gpu.key if profile in known or not has_errors(findings) else None
    if row["by"] == "vgpu":
        found = [gpu for gpu, _ in boards_of(catalogue.gpus.values(), name) if _offered(gpu, name)]
        return found[0].key if len(found) == 1 else None
    try:
        if row["by"] == "gpu-feature-discovery":
            return catalogue.gpu_by_product_label(name).key
        return catalogue.find_gpu(name).key
    except UnknownKeyError:
        return None


def _offered(gpu: Any, name: str) -> bool:
    """Whether a pool of the GPU may declare the type; desktops are refused for their series."""
    sharing = Sharing.model_validate({"vgpu": {"profile": name.removeprefix("nvidia.com/")}})
    _, findings = cut(gpu, 1, sharing, "sharing")
    codes = {one.code for one in findings if one.severity.value == "error"}
    return codes <= {"vgpu-series-not-compute"}


def test_the_list_is_long_and_each_name_has_a_source() -> None:
    assert len({(row["printed"], row.get("on")) for row in ROWS}) == len(ROWS) >= 300
    assert all(row["source"] for row in ROWS)
    assert {row["by"] for row in ROWS} == {
        "nvidia-smi -L", "gpu-feature-discovery", "GKE", "karpenter", "vgpu", "mig",
    }  # fmt: skip


@pytest.mark.parametrize("by", sorted({row["by"] for row in ROWS}))
def test_every_name_leads_to_its_row_or_is_refused(by: str) -> None:
    catalogue = load()
    wrong = [
        f"{row['printed']}: {found}, not {row['gpu']}"
        for row in ROWS
        if row["by"] == by and (found := meant(row, catalogue)) != row["gpu"]
    ]
    assert wrong == []
