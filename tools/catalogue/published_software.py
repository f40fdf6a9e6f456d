"""Charts, node images, model configurations and the SDK's list of machine types."""

import gzip
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from tools.catalogue.publication import Collected, Stored, UnreadableSourceError
from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.software_rows import shape_of_config

_RELEASE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
CONFIG_SUFFIX = "_config.json"
"""End of the name of a stored `config.json`; before it the name of the hub, `Qwen--Qwen3-8B`."""


def charts(stored: Stored) -> Collected:
    """The newest release of each chart: of `*.yaml`, an index of a chart repository, and of
    `*.json`, the list of tags of a registry. Candidates and nightly builds do not count."""
    import yaml

    found = Collected()
    for name in stored.files(".yaml"):
        try:
            entries = yaml.load(stored.text(name), yaml.CSafeLoader)["entries"].items()
            for chart, versions in entries:
                _add_newest(found, str(chart), {str(one["version"]): one for one in versions})
        except (yaml.YAMLError, KeyError, TypeError, AttributeError) as problem:
            raise UnreadableSourceError(f"{name} is no index of charts: {problem!r}") from None
    for name in stored.files(".json"):
        document = stored.json(name)
        try:
            tags = cast("list[str]", document["tags"])
            _add_newest(found, str(document["name"]).rpartition("/")[2], {one: {} for one in tags})
        except (KeyError, TypeError, AttributeError) as problem:
            raise UnreadableSourceError(f"{name} is no list of tags: {problem!r}") from None
    return found


def release_number(version: str) -> tuple[int, ...] | None:
    """Numbers of a release, in order; None for a candidate, a nightly build and other tags."""
    match = _RELEASE.fullmatch(version)
    return None if match is None else tuple(map(int, match.groups()))


def _add_newest(found: Collected, name: str, versions: Mapping[str, Mapping[str, Any]]) -> None:
    released = {number: text for text in versions if (number := release_number(text))}
    if not released:
        return
    version = released[max(released)]
    about = versions[version]
    created = str(about.get("created", ""))[:10]
    row = {"name": name, "version": version, "app_version": about.get("appVersion")}
    found.add("charts", {**row, "published": created or None})


def eks_image(stored: Stored) -> Collected:
    """Branch of the driver of Amazon Linux 2023, from the variables that its image is built by."""
    variables: object = stored.json("variables-default.json")
    named = cast("RawRow", variables) if isinstance(variables, dict) else {}
    branch = str(named.get("nvidia_driver_major_version"))
    if not re.fullmatch(r"\d{3}", branch):
        message = "variables-default.json has no `nvidia_driver_major_version` of three digits"
        raise UnreadableSourceError(message)
    found = Collected()
    found.add("images", {"key": "al2023-nvidia", "driver_branch": branch})
    return found


def models(stored: Stored, hubs: Mapping[str, str]) -> Collected:
    """Shapes of models from their own `config.json`. `hubs`: name on the hub -> name of a row."""
    found = Collected()
    for name in stored.files(".json"):
        hub = name.removesuffix(CONFIG_SUFFIX).replace("--", "/")
        if hub not in hubs:
            continue
        try:
            shape = shape_of_config(cast("RawRow", stored.json(name)))
        except (KeyError, TypeError) as problem:
            raise UnreadableSourceError(f"{name} lacks {problem}") from None
        # A row leaves out what the model has none of.
        stated = {key: value for key, value in shape.items() if value or value is False}
        found.add("models", {"name": hubs[hub], **stated})
    return found


def botocore_types(stored: Stored) -> Collected:
    """Names of the machine types in AWS's SDK."""
    packed = stored.folder / "service-2.json.gz"
    try:
        model = (
            json.loads(gzip.decompress(packed.read_bytes()))
            if packed.exists()
            else stored.json("service-2.json")
        )
        names = cast("Iterable[str]", model["shapes"]["InstanceType"]["enum"])
    except (OSError, ValueError, KeyError, TypeError, EOFError) as problem:
        message = f"service-2.json is no service model of EC2: {problem!r}"
        raise UnreadableSourceError(message) from None
    return Collected(types=set(names))
