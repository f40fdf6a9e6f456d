"""Plain facts of OpenShift on Google Cloud."""

from gpufleet.contract.platform_facts import platform_facts

FACTS = platform_facts(__file__)
