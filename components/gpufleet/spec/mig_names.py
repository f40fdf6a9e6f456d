"""Names of MIG profiles and of configurations in NVIDIA's default mig-parted file."""

from typing import Annotated

from pydantic import StringConstraints

ProfileName = Annotated[
    str,
    StringConstraints(
        pattern=r"^([1-9][0-9]*c\.)?[1-9][0-9]*g\.[1-9][0-9]*gb([+-][a-z][a-z0-9.]*(,[a-z][a-z0-9.]*)*)?$",
        max_length=40,
    ),
]
"""A MIG profile as NVIDIA writes it: `1g.10gb`, `1g.10gb+me`, `1c.3g.40gb` (lower case)."""

MigPreset = Annotated[str, StringConstraints(pattern=r"^all-[a-z0-9][a-z0-9.-]*$", max_length=40)]
"""A configuration by its name in NVIDIA's default mig-parted file: `all-1g.10gb`."""
