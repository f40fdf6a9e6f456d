"""The simulators' hardware table: invariants, and agreement with published geometry."""

import json
from pathlib import Path

import pytest

from gpufleet.catalogue import load
from gpufleet_sandbox.operands.boards import BOARDS, Board, board_named

GEOMETRY = Path(__file__).parents[5] / "shared/reference/mig_profiles.json"
CUT = [board for board in BOARDS.values() if board.mig_capable]
WITHOUT_PCI_ID = {
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
}
"""No file of NVIDIA's with theirs was found; it matters only on nodes that mix kinds of GPU."""


@pytest.mark.parametrize("board", CUT, ids=lambda board: board.product)
def test_shapes_lie_inside_the_board(board: Board) -> None:
    known = board.pci_id.startswith("0x") and board.pci_id.endswith("10DE")
    assert known is (board.product not in WITHOUT_PCI_ID)
    for shape in board.shapes:
        assert shape.starts
        assert len(shape.starts) == len(set(shape.starts))
        assert max(shape.starts) + shape.width <= board.memory_slots
        assert shape.most * shape.compute <= board.compute_slices
        assert shape.most <= len(shape.starts)
        assert shape.name.startswith(f"{shape.compute}g.")
    whole = [shape for shape in board.shapes if shape.width == board.memory_slots]
    assert all(shape.most == 1 for shape in whole)


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.product)
def test_family_follows_from_compute_capability(board: Board) -> None:
    families = {
        3: "kepler",
        5: "maxwell",
        6: "pascal",
        9: "hopper",
        10: "blackwell",
        12: "blackwell",
    }
    major, minor = board.compute_capability
    if major == 7:
        expected = "turing" if minor >= 5 else "volta"
    elif major == 8:
        expected = "ada-lovelace" if minor == 9 else "ampere"
    else:
        expected = families[major]
    assert board.family == expected


def test_names_without_the_vendor_prefix_are_found() -> None:
    assert board_named("NVIDIA T4") is BOARDS["Tesla T4"]
    assert board_named("A100-SXM4-80GB") is BOARDS["NVIDIA A100-SXM4-80GB"]
    assert board_named("NVIDIA Z1") is None


def test_mps_clients_depend_on_the_generation() -> None:
    assert BOARDS["NVIDIA L4"].mps_client_limit == 48
    assert BOARDS["Tesla V100-SXM2-16GB"].mps_client_limit == 16


def test_every_board_of_the_catalogue_is_here_and_the_same() -> None:
    """Two tables, written apart from each other, must describe the same hardware."""
    differences: list[str] = []
    for key, gpu in load().gpus.items():
        if gpu.vendor != "nvidia":
            continue
        for product in gpu.product_names:
            board = board_named(product)
            if board is None:
                differences.append(f"{key}: no board {product}")
                continue
            if gpu.compute_capability not in (None, board.compute_capability):
                differences.append(f"{product}: compute capability {gpu.compute_capability}")
            if gpu.architecture != board.family:
                differences.append(f"{product}: family {gpu.architecture}")
            theirs = {
                name: (p.compute_slices, p.memory_slots, tuple(p.starts), p.max_instances)
                for name, p in (gpu.mig.profiles.items() if gpu.mig else ())
            }
            ours = {s.name: (s.compute, s.width, s.starts, s.most) for s in board.shapes}
            if ours != theirs:
                differences.append(f"{product}: {ours} / {theirs}")
    assert not differences, "\n".join(differences)


def test_geometry_is_the_published_one() -> None:
    if not GEOMETRY.exists():
        pytest.skip(f"the published geometry is not next to the checkout ({GEOMETRY})")
    differences: list[str] = []
    for gpu in json.loads(GEOMETRY.read_text())["gpus"]:
        for product in gpu["product_names"]:
            board = board_named(product)
            assert board is not None, product
            ours = {s.name: (s.compute, s.width, s.starts, s.most) for s in board.shapes}
            theirs = {
                p["name"]: (
                    p["compute_slices"],
                    p["memory_slots"],
                    tuple(p["placement"]["starts"]),
                    p["max_instances"],
                )
                for p in gpu["profiles"]
            }
            if ours != theirs:
                differences.append(f"{product}: {ours} / {theirs}")
            known = {p["name"]: p["sm_count"] for p in gpu["profiles"] if p["sm_count"]}
            differences += [
                f"{product} {s.name}: {s.multiprocessors} multiprocessors / {known[s.name]}"
                for s in board.shapes
                if s.name in known and s.multiprocessors not in (None, known[s.name])
            ]
            memory = {
                p["name"]: p["usable_memory_gib"] for p in gpu["profiles"] if p["usable_memory_gib"]
            }
            differences += [
                f"{product} {s.name}: {s.memory_mib} MiB / {memory[s.name]} GiB"
                for s in board.shapes
                if s.name in memory
                and s.memory_mib is not None
                and abs(s.memory_mib / 1024 - memory[s.name]) > 0.06 * memory[s.name]
            ]
    assert not differences, "\n".join(differences)
