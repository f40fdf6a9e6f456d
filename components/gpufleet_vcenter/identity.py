"""Identity of a machine: an id that survives every crash, and marks that name its owner.

The clone call itself sets the instance uuid, so a machine can be found from the moment it exists.
The marks distinguish our machine from another owner's machine with the same uuid.
"""

import uuid
from enum import Enum

NAMESPACE = uuid.UUID("6ed7a5f1-52b2-5b6c-9a7e-3b1f6f0c4d21")
"""This value must never change: with another value no existing machine would be recognised."""

MARKS = "gpufleet."
"""Prefix of each key of a mark."""
OWNER = "gpufleet.owner"
GENERATION = "gpufleet.generation"
SCHEMA = {"gpufleet.schema": "1"}
"""The mark with the version of the marks."""

LIFE = "gpufleet.stack"
"""Id of the stack that made the machine, which its state keeps: another backend may have a stack of
the same name."""

UNKNOWN_LIFE = "unknown"
"""Replaces an id that is unknown in a preview."""

UUID = "gpufleet.uuid"
"""The machine's instance uuid when it was made: a copy of the machine has another."""

PENDING = "gpufleet.pending"
"""Mark of a machine that is not complete: its own resource removes the mark last. Only such
machines are removed when their declaration has changed."""


class Standing(Enum):
    """Relation of a machine in vCenter to a group."""

    OURS = "ours"
    """The group made it, and it is complete."""
    PENDING = "pending"
    """The group made it, and it is not complete."""
    COPY = "copy"
    """A copy or a restored backup of a machine of the group."""
    FOREIGN = "foreign"
    """It does not belong to the group."""


def key_of(owner: str) -> str:
    """Key of a machine in its group."""
    return owner.rpartition("/")[2]


def stack_of(owner: str) -> str:
    """`organisation/project/stack` of a machine or a group."""
    return "/".join(owner.split("/")[:3])
