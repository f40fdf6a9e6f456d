"""Read-only questions to a real cloud, by the cloud's own client: one module per platform.

Each has a function `ask(fleet, wiring) -> Answers`. Clients are imported when a question is asked:
the extra `preflight` brings them.
"""
