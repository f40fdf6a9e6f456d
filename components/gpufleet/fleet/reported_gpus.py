"""NVIDIA GPUs in a Node object: partitioned, shared or whole.

Labels are those of GPU Feature Discovery (NVIDIA/k8s-device-plugin v0.20.0 README, "Generated
labels"): sharing and the MIG strategy `single` append to the product, and with `single` the count
is that of the slices.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gpufleet.catalogue import Gpu, UnknownKeyError, load
from gpufleet.documents.shapes import mapping

PRODUCT_LABEL, _COUNT_LABEL = "nvidia.com/gpu.product", "nvidia.com/gpu.count"
_WHOLE, _SLICE, _SHARED = "nvidia.com/gpu", "nvidia.com/mig-", "-SHARED"
_SHARES = "nvidia.com/device-plugin.config"
_OF_ONE = re.compile(r"-MIG-([0-9]+g\.[0-9]+gb(?:\.me)?)")


@dataclass(frozen=True)
class ReportedGpus:
    """GPUs of one Node."""

    labels: Mapping[str, str]
    """Labels of the Node."""
    capacity: Mapping[str, int]
    """Whole numbers of its `status.capacity`."""

    @property
    def product(self) -> str | None:
        """Product label of GPU Feature Discovery, with suffixes; None without the label."""
        return self.labels.get(PRODUCT_LABEL)

    @property
    def driver(self) -> str | None:
        """Release of the driver in use."""
        return self.labels.get("nvidia.com/cuda.driver-version.full")

    @cached_property
    def gpu(self) -> Gpu | None:
        """The GPU of the catalogue; None if it is not labelled or not known."""
        try:
            return None if self.product is None else load().gpu_by_product_label(self.product)
        except UnknownKeyError:
            return None

    @property
    def slices(self) -> dict[str, int]:
        """MIG profiles that the Node offers, with their number; never zero."""
        found = {
            key.removeprefix(_SLICE).replace(".me", "+me"): count
            for key, count in self.capacity.items()
            if key.startswith(_SLICE)
        }
        if self._single is not None and _WHOLE in self.capacity:
            found[self._single] = self.capacity[_WHOLE]
        return {name: count for name, count in found.items() if count}

    @property
    def whole(self) -> int:
        """GPUs that the Node offers in addition to its slices."""
        return 0 if self._single is not None else self.capacity.get(_WHOLE, 0)

    @property
    def count(self) -> int | None:
        """GPUs in the Node; None if no label counts them: shares are not GPUs."""
        text = self.labels.get(_COUNT_LABEL, "")
        counted = int(text) if text.isdecimal() else 0
        if self._single is not None:
            geometry = None if self.gpu is None else self.gpu.mig
            row = None if geometry is None else geometry.profiles.get(self._single)
            if row is None or counted % row.max_instances:
                return None  # some GPUs are not full of slices
            return counted // row.max_instances or None
        shared = (self.product or "").endswith(_SHARED) or _SHARES in self.labels
        return counted or (None if shared or self.slices else self.whole) or None

    @property
    def present(self) -> bool:
        """Whether labels or resources show an NVIDIA GPU."""
        seen = any(key.startswith((_WHOLE, _SLICE)) for key in self.capacity)
        pci = self.labels.get("feature.node.kubernetes.io/pci-10de.present") == "true"
        return seen or pci or self.product is not None

    @property
    def _single(self) -> str | None:
        found = _OF_ONE.search(self.product or "")
        return None if found is None else found[1].replace(".me", "+me")


def reported_gpus(node: Mapping[str, Any]) -> ReportedGpus:
    """GPUs of a Node object from `kubectl get nodes -o json`."""
    labels = mapping(mapping(node.get("metadata")).get("labels"))
    capacity = mapping(mapping(node.get("status")).get("capacity"))
    return ReportedGpus(
        {key: value for key, value in labels.items() if isinstance(value, str)},
        {key: int(text) for key, text in capacity.items() if str(text).isdecimal()},
    )
