"""A mirror list in the formats of tools that carry images over an air gap.

Hauler: kinds Images and Charts of `content.hauler.cattle.io/v1` (hauler-dev/hauler at 0475f71,
`testdata/hauler-manifest.yaml`). Zarf: ZarfPackageConfig of `zarf.dev/v1alpha1` (zarf-dev/zarf at
00163e6, `zarf.schema.json`). skopeo: `skopeo copy`, because `skopeo sync` keeps either no path or
the registry's name too (containers/skopeo at 2c85fb5, `docs/skopeo-sync.1.md`).
"""

import shlex
from typing import Any

from gpufleet.documents.writing import commented, yaml_stream, yaml_text
from gpufleet.render.fleet_release import FleetRelease
from gpufleet.render.mirror import MirrorList

_OCI = "oci://"


def hauler_manifest(found: MirrorList, name: str) -> str:
    """For `hauler store sync --filename`."""
    images = [{"name": one.source} for one in found.images]
    charts = [_hauler_chart(one) for one in found.charts]
    return yaml_stream(
        [
            _content("Images", f"{name}-images", {"images": images}),
            _content("Charts", f"{name}-charts", {"charts": charts}),
        ],
        _missing(found),
    )


def _content(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    api = "content.hauler.cattle.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _hauler_chart(release: FleetRelease) -> dict[str, str]:
    """An OCI reference is divided: the chart's name, and the path before it."""
    address, name = release.chart.repository, release.chart.name
    if address.startswith(_OCI):
        address, _, name = address.rpartition("/")
    return {"name": name, "repoURL": address, "version": release.version}


def zarf_package(found: MirrorList, name: str) -> str:
    """`zarf.yaml`: one component with all charts, their values files and all images."""
    charts = [
        {
            "name": one.chart.name,
            "version": one.version,
            "url": one.chart.repository,
            "namespace": one.namespace,
            "valuesFiles": [f"values/{one.chart.name}.yaml"],
        }
        for one in found.charts
    ]
    component = {
        "name": "gpu-fleet",
        "required": True,
        "charts": charts,
        "images": [one.source for one in found.images],
    }
    package = {
        "apiVersion": "zarf.dev/v1alpha1",
        "kind": "ZarfPackageConfig",
        "metadata": {"name": name},
        "components": [component],
    }
    return yaml_text(package, _missing(found))


def skopeo_script(found: MirrorList) -> str:
    """A shell script that copies each image to the place where the fleet looks for it."""
    copies = [
        f"skopeo copy --all --preserve-digests docker://{shlex.quote(_one_name(one.source))} "
        f"docker://{shlex.quote(_one_name(one.target))}"
        for one in found.images
        if one.source != one.target
    ]
    missing = commented(_missing(found)).splitlines()
    return "\n".join(["#!/bin/sh", *missing, "set -eu", *copies, ""])


def _one_name(reference: str) -> str:
    """skopeo takes a tag or a digest, and refuses both."""
    name, _, digest = reference.partition("@")
    tagged, colon, tag = name.rpartition(":")
    return f"{tagged if colon and '/' not in tag else name}@{digest}" if digest else name


def _missing(found: MirrorList) -> str:
    lines = [f"  {one.image} of {one.user}: {one.reason}" for one in found.not_known]
    return "\n".join(["Not in this list:", *lines]) if lines else ""
