"""The corpora, and the results of the audit for them.

Set GPUFLEET_CORPORA to their folder; by default it is next to the repository. Files and commits are
listed in its README. Nothing of their text is part of this repository.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpufleet.findings import Finding
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY

CORPORA = Path(
    os.environ.get("GPUFLEET_CORPORA") or Path(__file__).resolve().parents[3] / "shared" / "corpora"
)
ONE_BY_ONE = ("nvidia-configs",)
"""Folders with files of many repositories: each file is a separate run."""

needs_corpora = pytest.mark.skipif(
    not CORPORA.is_dir(), reason=f"the public files are not there: {CORPORA}"
)


def runs() -> Iterator[Path]:
    """Input of one user's audit: a repository, or one file."""
    for folder in sorted(one for one in CORPORA.iterdir() if one.is_dir()):
        if folder.name in ONE_BY_ONE:
            yield from (file for file in sorted(folder.rglob("*.y*ml")) if file.is_file())
        else:
            yield folder


def findings(path: Path) -> Iterator[tuple[str, Finding]]:
    """Each finding of one run with default settings, and its file as the labels name it."""
    result = audit(find_inputs([str(path)]), read_settings({}), TODAY)
    for found in result.findings:
        yield str(Path(found.file).relative_to(CORPORA)), found
