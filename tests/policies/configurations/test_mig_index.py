"""Indices of GPUs that no node has end in a result, not in a search over all of them."""

import pytest

from gpufleet_policies.configurations.kinds import validate_text

TEXT = """\
version: v1
mig-configs:
  a:
  - {{devices: [{index}], mig-enabled: true, mig-devices: {{1g.10gb: 7}}}}
"""


@pytest.mark.parametrize("index", [248, 99_999_999_999, -1])
@pytest.mark.parametrize("context", [{}, {"gpu": "A100-80GB"}])
def test_an_index_beyond_the_driver_s_device_files_is_refused(
    index: int, context: dict[str, str]
) -> None:
    validated = validate_text("mig-parted", TEXT.format(index=index), context=context)
    (found,) = [one for one in validated.findings if one.code == "mig-parted-devices-index"]
    assert f"there is no GPU {index} on the node" in found.message
    assert found.fix == "write indices from 0 to 247"


def test_the_last_device_file_is_an_index() -> None:
    validated = validate_text("mig-parted", TEXT.format(index=247))
    assert "mig-parted-devices-index" not in {one.code for one in validated.findings}
