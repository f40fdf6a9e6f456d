"""Neuron devices assigned core by core."""

from dataclasses import replace

from gpufleet.catalogue.frozen import frozen
from gpufleet.partition.model import Partition

CORE = "aws.amazon.com/neuroncore"
"""Extended resource of single cores; Neuron's device plugin publishes it next to whole devices."""


def in_cores(partition: Partition, cores: int) -> Partition:
    """The same devices, requested by core. `cores`: cores of one device."""
    (whole,) = partition.shares
    memory = None if whole.memory_bytes is None else whole.memory_bytes // cores
    share = replace(
        whole,
        resource=CORE,
        per_node=whole.per_node * cores,
        part=whole.part / cores,
        memory_bytes=memory,
        device_bytes=memory,
    )
    return replace(partition, shares=(share,), advertised=frozen({CORE: share.per_node}))
