"""The default Kubernetes version in docstrings is the actual one."""

import re
from pathlib import Path

from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION

COMPONENTS = Path(__file__).parents[3] / "components" / "gpufleet"


def test_docstrings_give_the_default_that_applies() -> None:
    given = {
        (path.name, version)
        for path in COMPONENTS.rglob("*.py")
        for version in re.findall(r'Default:? "?(1\.\d{2})"?\.', path.read_text("utf-8"))
    }
    assert len(given) > 5
    assert {version for _, version in given} == {DEFAULT_KUBERNETES_VERSION}
