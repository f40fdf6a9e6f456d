"""Single components in the spelling of Python, one mistake each."""

from gpufleet import EksGpuNodeGroup, GpuAddons, GpuPoolArgs

POOL: GpuPoolArgs = {
    "name": "y",
    "gpu": "L4",
    "nodes": {"min": 0, "max": 4},
    "sharing": {"time_slicing": {"replicas": 4}},
}
WORD: GpuPoolArgs = {"name": "y", "nodes": {"min": 0, "max": 4}, "intent": "trainin"}  # wrong
KEY: GpuPoolArgs = {"name": "y", "nodes": {"min": 0, "max": 4}, "shraing": {}}  # wrong
EksGpuNodeGroup(
    "y",
    {
        "catalogue": "2026.11",
        "region": "us-east-1",
        "cluster_name": "ml",
        "node_role_arn": "arn:aws:iam::111122223333:role/node",
        "subnet_ids_by_zone": {"us-east-1a": "subnet-0123456789abcdef0"},
        "pool": POOL,
    },
)
EksGpuNodeGroup(
    "z",
    {
        "catalogue": "2026.11",
        "region": "us-east-1",
        "cluster_name": "ml",
        "node_role": "arn:aws:iam::111122223333:role/node",  # wrong
        "subnet_ids_by_zone": {"us-east-1a": "subnet-0123456789abcdef0"},
        "pool": POOL,
    },
)
GpuAddons("a", {"catalogue": "2026.11", "pools": "none"})  # wrong
