"""A key that a declaration needs and does not have, with what to write."""

from gpufleet.catalogue.edition import editions
from gpufleet.findings import Finding, error
from gpufleet.spec.base import Platform

_NODES = "nodes: {min: 0, max: 4}"
_WRITTEN = {
    "cluster": "cluster: {name: NAME, region: REGION}",
    "nodes": _NODES,
    "pools": f"pools: [{{name: notebooks, gpu: L4, {_NODES}}}]",
}


def missing_key(path: str) -> Finding:
    """The finding, with a value where one helps."""
    written = _WRITTEN.get(path.rpartition(".")[2])
    fix = f"write for example `{written}`" if written else f"add `{path}`"
    if path == "catalogue":
        fix = f'write `catalogue: "{editions()[-1]}"`, the newest edition that is installed'
    if path == "platform":
        fix = f"write `platform:` with one of {', '.join(Platform)}"
    return error("spec-key-missing", path, "this key is needed and missing", fix)
