"""Validation of objects by the catalogue's schemas, like an API server with strict validation.

from gpufleet.contract.schemas.validator import schema_problems
schema_problems({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "spec": {...}})
"""
