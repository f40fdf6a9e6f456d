"""Identity of a machine: an id that survives every crash, and marks that name its owner.

The clone call itself sets the instance uuid, so a machine can be found from the moment it exists.
The marks distinguish our machine from another owner's machine with the same uuid.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

NAMESPACE = uuid.UUID("6ed7a5f1-52b2-5b6c-9a7e-3b1f6f0c4d21")
"""This value must never change: with another value no existing machine would be recognised."""

MARKS = "gpufleet."
"""What each key of a mark begins with."""
OWNER = "gpufleet.owner"
GENERATION = "gpufleet.generation"
SCHEMA = "gpufleet.schema"
SCHEMA_VERSION = "1"

LIFE = "gpufleet.stack"
"""Id of the stack that made the machine, which its state keeps: another backend may have a stack of
the same name."""

UNKNOWN_LIFE = "unknown"
"""In place of an id that a preview does not know yet."""

UUID = "gpufleet.uuid"
"""The machine's instance uuid when it was made: a copy of the machine has another."""

PENDING = "gpufleet.pending"
"""Mark of a machine that is not complete: its own resource removes the mark last. Only such
machines are removed when their declaration has changed."""


@dataclass(frozen=True, slots=True)
class MachineIdentity:
    """One machine of one declaration."""

    server: str
    """The vCenter's own instance uuid, so that a renamed server keeps its machines."""
    owner: str
    """`organisation/project/stack/group/ordinal`."""
    generation: str
    """Short digest of what can only change by replacing the machine."""
    pending: bool = False
    """Whether the machine is not complete yet. Default false."""
    life: str = ""
    """Id of the stack. Default: unknown, as in states that were written before there was one."""
    known_uuid: str = ""
    """Its uuid, where the state has it. Default: it follows from the rest."""

    @property
    def instance_uuid(self) -> str:
        """vCenter's instance uuid of the machine, lower case; also the resource's id."""
        if self.known_uuid:
            return self.known_uuid
        parts = (self.server, self.owner, self.generation, *filter(None, (self.life,)))
        return str(uuid.uuid5(NAMESPACE, "|".join(parts)))

    @property
    def marks(self) -> dict[str, str]:
        """Keys of the machine's extra configuration. Not under `guestinfo.`: guests write there."""
        marks = {OWNER: self.owner, GENERATION: self.generation, SCHEMA: SCHEMA_VERSION}
        if self.life:
            marks |= {LIFE: self.life, UUID: self.instance_uuid}
        return {**marks, PENDING: "true"} if self.pending else marks

    def owns(self, extra_config: Mapping[str, str]) -> bool:
        """Whether a machine with this extra configuration is the one declared here."""
        return (
            extra_config.get(GENERATION) == self.generation
            and extra_config.get(SCHEMA) == SCHEMA_VERSION
            and self.is_key(extra_config)
        )

    def is_key(self, extra_config: Mapping[str, str]) -> bool:
        """Whether the machine is this one of the group, or another generation of it.

        The id of the stack and the key decide; the names of project and stack, which change when
        a stack is renamed, only where one of the two has no id.
        """
        owner = extra_config.get(OWNER, "")
        if self.life and LIFE in extra_config:
            return extra_config[LIFE] == self.life and key_of(owner) == key_of(self.owner)
        return owner == self.owner


class Standing(Enum):
    """What a machine of vCenter is to a group."""

    OURS = "ours"
    """The group made it, and it is complete."""
    PENDING = "pending"
    """The group made it, and it is not complete."""
    COPY = "copy"
    """Someone copied or restored it from a machine of the group."""
    FOREIGN = "foreign"
    """It belongs to someone else."""


def standing(
    server: str, group: str, life: str, instance_uuid: str, extra_config: Mapping[str, str]
) -> Standing:
    """What a machine of vCenter is to a group: the one answer, for making, sweeping and reports.

    vCenter copies the extra configuration with the marks, and gives a copy an instance uuid of its
    own.

    Args:
        server: The vCenter's own instance uuid.
        group: Owner of the group. It decides only where the group has no id.
        life: Id of the group in its stack; empty: the state is of a time before there were ids.
        instance_uuid: The machine's.
        extra_config: The machine's.
    """
    owner = extra_config.get(OWNER, "")
    ours = extra_config.get(LIFE) == life if life else group_of(owner) == group
    if not owner or not ours:
        return Standing.FOREIGN
    own = MachineIdentity(server, owner, extra_config.get(GENERATION, ""))
    if instance_uuid.lower() != extra_config.get(UUID, own.instance_uuid).lower():
        return Standing.COPY
    return Standing.PENDING if extra_config.get(PENDING) else Standing.OURS


def key_of(owner: str) -> str:
    """Key of a machine in its group."""
    return owner.rpartition("/")[2]


def stack_of(owner: str) -> str:
    """`organisation/project/stack` of a machine or a group."""
    return "/".join(owner.split("/")[:3])


def group_of(owner: str) -> str:
    """Owner of the group of a machine."""
    return owner.rpartition("/")[0]


def generation_of(parts: Mapping[str, object]) -> str:
    """Digest of the inputs whose change replaces a machine: 12 hexadecimal digits."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
