"""Effects of taints as AWS and Google Cloud spell them."""

_SPELT = ("NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE")
READ = {spelt: spelt.title().replace("_", "") for spelt in _SPELT}
"""The cloud's form -> Kubernetes'."""
EFFECTS = {effect: spelt for spelt, effect in READ.items()}
