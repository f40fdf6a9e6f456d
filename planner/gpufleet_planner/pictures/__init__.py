"""Pictures of what was planned, as SVG or PNG: a memory ledger, a packing.

Drawn by matplotlib (extra `planner`), which is imported only when something is drawn.
"""
