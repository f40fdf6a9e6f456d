"""Plain facts of OpenShift on vSphere, and what OpenShift on clouds shares with it."""

from gpufleet.contract.platform_facts import platform_facts

FACTS = platform_facts(__file__)
