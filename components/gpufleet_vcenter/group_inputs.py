# pyright: standard
"""Inputs and state of a group of machines, read from the engine's properties of today, and from
those of the resources that there were before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_vcenter.credentials import credentials
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.group_plan import Machine
from gpufleet_vcenter.identity import UNKNOWN_LIFE, key_of
from gpufleet_vcenter.opened import setting
from gpufleet_vcenter.outputs import CUSTOM_TIMEOUT, SECRETS
from gpufleet_vcenter.properties import UNKNOWN, Objects, has_unknown

_UNKNOWN_GENERATION = "0" * 12
_KEPT = ("group", "life", "width", "rolloutWidth", "order", "after", "names", "preflight")


@dataclass(frozen=True, slots=True)
class GroupInputs:
    """What is declared of a group."""

    group: str
    """`organisation/project/stack/group`."""
    life: str
    """Id of the stack's group; `UNKNOWN_LIFE`: it is yet to be made."""
    nodes: Mapping[str, Machine]
    """Inputs of each machine by key, in the order of changes; secret ones among them."""
    creation_width: int
    rollout_width: int
    after: Mapping[str, list[str]]
    """Key -> keys of machines that are changed before it."""
    excluded: tuple[str, ...]
    """Keys that the declaration says are to go."""
    names: str
    """What the names of the machines begin with."""
    objects: Objects
    """What names lead to."""
    plan: Mapping[str, str]
    """What `check` found to do, by the names of machines."""
    given: Mapping[str, Any]

    @staticmethod
    def of(given: Mapping[str, Any]) -> "GroupInputs | None":
        """The inputs; None: which machines there are is not known yet."""
        nodes, order = given.get("nodes") or {}, given.get("order") or []
        if not isinstance(nodes, Mapping) or not isinstance(order, list) or has_unknown(order):
            return None
        life = str(given.get("life") or "")
        life = UNKNOWN_LIFE if life == UNKNOWN else life
        return GroupInputs(
            group=str(given["group"]),
            life=life,
            nodes={key: _merged(given, key, life) for key in order},
            creation_width=int(given["width"]),
            rollout_width=int(given["rolloutWidth"]),
            after=given.get("after") or {},
            excluded=tuple(given.get("excluded") or ()),
            names=str(given["names"]),
            objects=given.get("objects") or {},
            plan=given.get("plan") or {},
            given=given,
        )

    def kept(self) -> dict[str, Any]:
        """What the state keeps of it next to the machines."""
        return {key: self.given[key] for key in (*_KEPT, "objects") if key in self.given}

    def has(self, name: str) -> bool:
        """Whether a machine of this name is one of the group."""
        return name.startswith(self.names)

    def asks_later(self) -> bool:
        """Whether nothing is asked in a preview: it is switched off, something is not known yet, or
        no credentials are there, as in a preview that is only to show what would be done."""
        if self.given.get("preflight") == "create":
            return True
        if any(has_unknown(placed(node)) for node in self.nodes.values()):
            return True
        endpoint = next((node["endpoint"] for node in self.nodes.values()), {})
        try:
            credentials(str(endpoint.get("credentialsKey") or "vsphere"), setting)
        except VsphereError:
            return True
        return False


def _merged(given: Mapping[str, Any], key: str, life: str) -> dict[str, Any]:
    """Inputs of one machine: its own, its first-boot data, and the id."""
    boot = given.get("boot") or {}
    secret = dict.fromkeys(SECRETS[:1], UNKNOWN) if boot == UNKNOWN else boot.get(key) or {}
    secret = dict.fromkeys(SECRETS[:1], UNKNOWN) if secret == UNKNOWN else secret
    more = {CUSTOM_TIMEOUT: given[CUSTOM_TIMEOUT]} if CUSTOM_TIMEOUT in given else {}
    return {**given["nodes"][key], **secret, **more, "life": life}


def placed(node: Machine) -> dict[str, Any]:
    """Inputs that decide where a machine can go: in a preview, first-boot data may be unknown, and
    with it the generation."""
    known = {k: v for k, v in node.items() if not (k in SECRETS and v == UNKNOWN)}
    if known.get("generation") == UNKNOWN:
        known["generation"] = _UNKNOWN_GENERATION
    return known


def state_of(olds: Mapping[str, Any]) -> dict[str, Machine]:
    """What a state has of each machine, by key. States of the former resources have a list of
    machines, what they have in common next to it, and no uuids."""
    nodes, order = olds.get("nodes") or {}, olds.get("order") or []
    life = {"life": olds["life"]} if olds.get("life") not in (None, UNKNOWN) else {}
    if isinstance(nodes, list):
        common = olds.get("common") or {}
        return {key_of(str(row["owner"])): {**common, **row, **life} for row in nodes}
    if not isinstance(nodes, Mapping):
        return {}
    ordered = [*(key for key in order if key in nodes), *(key for key in nodes if key not in order)]
    boot = olds.get("boot") or {}  # inputs have it, and outputs its digests
    secret: Mapping[str, Any] = boot if isinstance(boot, Mapping) else {}
    return {key: {**nodes[key], **(secret.get(key) or {}), **life} for key in ordered}
