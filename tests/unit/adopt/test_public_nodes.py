"""`adopt` of nodes in public issues: a correct declaration, or the reason why there is none.

Each file names its source and has its content in the format of `kubectl get nodes,pods -o yaml`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.commands.adopt import command
from tests.reading import yaml_data

FOLDER = Path(__file__).parent / "public_nodes"
FILES = sorted(FOLDER.glob("*.yaml"))
DECLARED: dict[str, dict[str, Any]] = {
    # Microsoft: Standard_NC4as_T4_v3 has one T4; Oracle: VM.GPU.A10.1 has one A10.
    "aks-threadr-68": {"gpu": "T4", "gpusPerNode": 1, "gpuTaint": False},
    "oke-database-operator-250": {"gpu": "A10", "gpusPerNode": 1},
    # The operator's pods exist, and none of them installs driver or toolkit.
    "dgx-station-deepnotes": {
        "gpu": "A100-40GB",
        "gpusPerNode": 4,
        "image": "plain-driver-toolkit",
        "gpuTaint": False,
    },
    "own-operator-334": {"gpu": "T4", "gpusPerNode": 1, "gpuTaint": False},
    "own-plugin-1501": {"gpu": "H100-80GB", "gpusPerNode": 8, "gpuTaint": False},
}
NOTHING = "no node shows one in its labels, its capacity or its machine type"
NO_LABEL = "no label nvidia.com/gpu.product: the GPU is not known"
REASONS = {
    "aks-839": NO_LABEL,
    "aks-acs-116": NOTHING,
    "coreweave-skypilot-6701": NO_LABEL,
    "dgx-feature-discovery-27": "the catalogue has no GPU 'NVIDIA-DGX-Display'",
    "dgx2-deepops-381": NOTHING,
    "k3s-10534": NOTHING,
    "k3s-8575": NOTHING,
    "k3s-feature-discovery-36": NOTHING,
    "k3s-hami-314": "no label counts the GPUs",
    "nebius-skypilot-5749": NOTHING,
    "own-network-operator-211": "the catalogue has no GPU 'A100-PCIE-40GB'",
    "own-operator-442": "no label counts the GPUs (A30-24GB)",
    "own-plugin-1246": NOTHING,
    "podman-7778": NO_LABEL,
    "rke2-toolkit-1089": NO_LABEL,
}


def adopted(file: Path) -> tuple[dict[str, Any] | None, str]:
    result = CliRunner().invoke(command, [str(file), "--format", "json"])
    found = json.loads(result.stdout)
    assert result.exit_code == (0 if found["spec"] else 1), result.output
    return found["spec"], " ".join(found["notes"])


def test_every_file_has_an_answer_and_a_source() -> None:
    assert {file.stem for file in FILES} == {*DECLARED, *REASONS}
    assert all(file.read_text().startswith("# Reduced from https://github.com/") for file in FILES)


@pytest.mark.parametrize("name", DECLARED)
def test_a_declaration_that_compiles_and_guesses_nothing(name: str) -> None:
    file = FOLDER / f"{name}.yaml"
    spec, notes = adopted(file)
    assert spec is not None, notes
    assert compile_data(spec).deployable
    (pool,) = spec["pools"]
    nodes = [one for one in yaml_data(file.read_text())["items"] if one["kind"] == "Node"]
    names = [one["metadata"]["name"] for one in nodes]
    assert pool.pop("nodes") == {"min": len(names), "max": len(names)}
    assert pool.pop("existing") == {"nodes": names}
    assert pool.pop("name") == pool["gpu"].lower()
    assert pool == DECLARED[name]
    # Neither a region nor a price is in these dumps.
    assert "region" not in spec["cluster"]
    assert "prices are not in the cluster: write `capacity`" in notes


@pytest.mark.parametrize("name", REASONS)
def test_no_declaration_and_the_reason(name: str) -> None:
    spec, notes = adopted(FOLDER / f"{name}.yaml")
    assert spec is None
    assert REASONS[name] in notes
