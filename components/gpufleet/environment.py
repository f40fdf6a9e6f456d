"""What the name of an environment decides, for declarations, plans and policies alike."""

PRODUCTION = frozenset({"prod", "production", "prd", "live"})
"""Names of environments that serve production, in lower case."""


def strict_prices(environment: str, prices: str | None) -> bool:
    """Whether a price of another region counts as not known.

    `prices` is the declaration's own word, `strict` or `estimate`; None: strict in production.
    """
    return prices == "strict" if prices is not None else environment.lower() in PRODUCTION
