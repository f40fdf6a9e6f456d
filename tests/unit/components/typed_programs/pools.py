"""Pools in the spelling of files, one mistake each."""

from gpufleet.arguments.spelled_as_files.pool import GpuPoolDict


def pool(declaration: GpuPoolDict) -> None:
    """A pool of a user's helper."""


pool({"name": "x", "gpu": "L4", "nodes": {"min": 0, "max": 4}, "fabric": "none"})
pool({"nam": "x", "nodes": {"min": 0, "max": 4}})  # wrong
pool({"name": "x", "nodes": {"min": 0, "maxi": 4}})  # wrong
pool({"name": "x", "nodes": {"min": "0", "max": 4}})  # wrong
pool({"name": "x", "nodes": 4})  # wrong
pool({"name": "x", "nodes": {"min": 0, "max": 4}, "intent": "trainin"})  # wrong
pool({"name": "x", "nodes": {"min": 0, "max": 4}, "gpus": 4})  # wrong
pool({"name": "x", "nodes": {"min": 0, "max": 4}, "sharing": {"timeSlicing": 4}})  # wrong
pool({"name": "x", "nodes": {"min": 0, "max": 4}, "sharing": {"mig": {"strategy": "m"}}})  # wrong
pool({"name": "x", "nodes": {"min": 0, "max": 4}, "capacity": [{"spott": {}}]})  # wrong
pool({"name": "x", "nodes": {"min": 0, "max": 4}, "gke": {"driver": "mine"}})  # wrong
pool({"name": "x", "nodes": {"min": 0, "max": 4}, "provisioner": "karpentr"})  # wrong
pool(
    {"name": "x", "nodes": {"min": 0, "max": 4}, "taints": [{"key": "a", "effect": "No"}]}
)  # wrong
