"""The former module of `ManifestObject`, which examples imported: it warns, and still works."""

import warnings

from gpufleet.components_base.manifest_object import ManifestObject

__all__ = ["ManifestObject"]

warnings.warn(
    "gpufleet.manifest_object is now gpufleet.components_base.manifest_object",
    DeprecationWarning,
    stacklevel=2,
)
