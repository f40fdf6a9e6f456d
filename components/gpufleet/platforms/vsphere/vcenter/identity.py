"""Who a machine is: the id that survives every crash, and the marks that say it is ours.

The instance uuid goes into the clone call itself, so a machine can be found from the moment it
exists; the marks next to it tell our machine from a stranger's with the same uuid.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

NAMESPACE = uuid.UUID("6ed7a5f1-52b2-5b6c-9a7e-3b1f6f0c4d21")
"""Fixed for ever: another value would make strangers of all machines."""

OWNER = "gpufleet.owner"
GENERATION = "gpufleet.generation"
SCHEMA = "gpufleet.schema"
SCHEMA_VERSION = "1"

PENDING = "gpufleet.pending"
"""Mark of a machine that a batch made and whose own resource has not taken over yet: the batch may
remove it, and no one else's."""


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
    """Whether it is made by a batch, for its resource to take over. Default false."""

    @property
    def instance_uuid(self) -> str:
        """vCenter's instance uuid of the machine, lower case; also the resource's id."""
        return str(uuid.uuid5(NAMESPACE, f"{self.server}|{self.owner}|{self.generation}"))

    @property
    def marks(self) -> dict[str, str]:
        """Keys of the machine's extra configuration. Not under `guestinfo.`: guests write there."""
        marks = {OWNER: self.owner, GENERATION: self.generation, SCHEMA: SCHEMA_VERSION}
        return {**marks, PENDING: "true"} if self.pending else marks

    def owns(self, extra_config: Mapping[str, str]) -> bool:
        """Whether a machine with this extra configuration is the one declared here."""
        return (
            extra_config.get(OWNER) == self.owner
            and extra_config.get(GENERATION) == self.generation
            and extra_config.get(SCHEMA) == SCHEMA_VERSION
        )


def generation_of(parts: Mapping[str, object]) -> str:
    """Digest of the inputs whose change replaces a machine: 12 hexadecimal digits."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
