"""The configs mig-manager generates for a node when no ConfigMap is named.

Since operator v26.3 they are made from what NVML lists on the node: `all-disabled`, `all-enabled`,
`all-<profile>` for each profile and `all-balanced`; device filters appear only where a node mixes
kinds of GPU. Upstream writes them to a ConfigMap `<node>-mig-config`; here they stay in memory.
"""

from gpufleet_sandbox.operands.boards import Board
from gpufleet_sandbox.operands.hardware import SimulatedHardware
from gpufleet_sandbox.operands.mig_parted_config import Config, ParsedMigEntry


def generated_configs(hardware: SimulatedHardware) -> dict[str, Config]:
    """Config name -> entries for this node's GPUs."""
    configs: dict[str, Config] = {
        "all-disabled": (ParsedMigEntry((), None, mig_enabled=False, mig_devices={}),),
        "all-enabled": (ParsedMigEntry((), None, mig_enabled=True, mig_devices={}),),
    }
    boards = list(dict.fromkeys(gpu.board for gpu in hardware.gpus if gpu.board.mig_capable))
    for board in boards:
        filters = (board.pci_id,) if len(boards) > 1 else ()
        for shape in board.shapes:
            name = f"all-{shape.resource_suffix}"
            entry = ParsedMigEntry(
                filters, None, mig_enabled=True, mig_devices={shape.name: shape.most}
            )
            configs[name] = (*configs.get(name, ()), entry)
        entry = ParsedMigEntry(filters, None, mig_enabled=True, mig_devices=_balanced(board))
        configs["all-balanced"] = (*configs.get("all-balanced", ()), entry)
    return configs


def _balanced(board: Board) -> dict[str, int]:
    """Two 1g and one 2g, and on seven-slice parts one 3g as well."""
    plain = [s for s in board.shapes if "+" not in s.name and "-" not in s.name]
    smallest = {n: min((s for s in plain if s.compute == n), key=lambda s: s.width) for n in (1, 2)}
    counts = {smallest[1].name: 2, smallest[2].name: 1}
    if board.compute_slices == 7:
        three = next(s for s in plain if s.compute == 3)
        counts[three.name] = 1
    return counts
