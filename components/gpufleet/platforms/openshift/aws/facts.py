"""Plain facts of OpenShift on AWS."""

from gpufleet.contract.platform_facts import platform_facts

FACTS = platform_facts(__file__)
