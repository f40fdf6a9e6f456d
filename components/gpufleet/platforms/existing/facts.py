"""Plain facts of existing nodes."""

from gpufleet.contract.platform_facts import platform_facts

FACTS = platform_facts(__file__)
