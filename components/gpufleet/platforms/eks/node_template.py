"""Extended resources of a node that does not exist yet, as an autoscaler must be told.

Autoscalers know the GPUs of an instance type and nothing of slices, turns or clients. What they
take for granted and the node will not have is set to 0, or they would start nodes for pods that can
never run there.
"""

from gpufleet.fleet.model import Pool
from gpufleet.fleet.neuron import is_neuron
from gpufleet.partition.shares import RESOURCES


def template_resources(pool: Pool) -> dict[str, int]:
    """Resource -> amount: what the node will advertise, and 0 for whole GPUs it will not.

    In order of name. The amounts are those of the partition; a zero adds nothing to their sum.
    """
    if is_neuron(pool.gpu):
        # No autoscaler takes them for granted, and nodes have whole devices next to single cores.
        return dict(pool.advertised)
    whole = RESOURCES[pool.gpu.vendor]
    return dict(sorted({whole: 0, **pool.advertised}.items()))


def modelled_gpus(pool: Pool) -> int:
    """Whole GPUs an autoscaler models by itself: what the cloud's API counts.

    0 for parts of a GPU, which EC2 counts as no GPU (g6f, gr6f).
    """
    row = pool.machines[0].instance
    counted = None if row is None else row.accelerator.api_count
    return pool.gpus_per_node if counted is None else counted
