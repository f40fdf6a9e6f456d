"""Effects of taints as AWS and Google Cloud spell them."""

from pydantic.alias_generators import to_snake

EFFECTS = {one: to_snake(one).upper() for one in ("NoSchedule", "PreferNoSchedule", "NoExecute")}
"""Kubernetes' form -> the cloud's."""
READ = {spelt: effect for effect, spelt in EFFECTS.items()}
