"""Which inputs cannot change in place: the providers' `ForceNew`, which no SDK carries.

A path holds for everything below it. A path with a leading `=` holds for the block itself, when it
appears or goes away, and not for what is inside. Lists are written without an index.

Sources: rows of `gpufleet.catalogue.provider_inputs`.
"""

from collections.abc import Mapping, Sequence

from gpufleet.catalogue.provider_inputs import constraints

REPLACING: Mapping[str, Sequence[str]] = {
    token: [
        f"={row.path}" if row.replaces == "block" else row.path
        for row in rows
        if row.replaces is not None
    ]
    for cloud in ("aws", "gcp")
    for token, rows in constraints(cloud).items()
}
"""Type -> paths of inputs whose change makes a new resource."""

ALWAYS = {"aws": ("region",), "gcp": ()}
"""Inputs of every resource of a provider that cannot change in place."""


def replaces(token: str, path: str) -> bool:
    """Whether a change at that path (`taints[0].value`, `nodeConfig.spot`) makes a new resource."""
    plain = _without_indexes(path)
    for entry in (*REPLACING.get(token, ()), *ALWAYS.get(token.partition(":")[0], ())):
        if plain == entry.removeprefix("="):
            return True
        if not entry.startswith("=") and plain.startswith(f"{entry}."):
            return True
    return False


def _without_indexes(path: str) -> str:
    parts = path.replace("]", "").split("[")
    return parts[0] + "".join(
        part.lstrip("0123456789") if not part.startswith('"') else "." + part.strip('"')
        for part in parts[1:]
    )
