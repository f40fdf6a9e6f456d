"""The base of every rule: `@rule`, its levels, and its context."""
