"""Requirements exclude exactly the machines that they do not select: one table for both."""

import re
from itertools import combinations

import pytest

from gpufleet.contract.programs.karpenter_keys import AWS, GPU_CATEGORIES
from gpufleet.contract.programs.karpenter_machines import (
    excludes_gpus,
    machines,
    read_requirements,
    selected,
)

CATEGORIES = ("c", "g", "gr", "p")
SETS = [chosen for size in (1, 2, 3, 4) for chosen in combinations(CATEGORIES, size)]


@pytest.mark.parametrize("operator", ["In", "NotIn"])
@pytest.mark.parametrize("values", SETS, ids=",".join)
def test_categories(operator: str, values: tuple[str, ...]) -> None:
    key = f"{AWS}instance-category"
    wanted = read_requirements([{"key": key, "operator": operator, "values": list(values)}])
    assert excludes_gpus(wanted) is not bool(selected(wanted))


def test_every_category_of_the_catalogue_is_known() -> None:
    """Karpenter's category is the letters that an instance type begins with."""
    found = {re.split("[0-9]", row.name)[0] for row in machines()}
    assert found == GPU_CATEGORIES
