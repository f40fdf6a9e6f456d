"""Memory that a model needs on GPUs, slices and shares, for the rules and for compile.

    from gpufleet.models.inference import serving_ledger

Speed, choice of GPU and price are in `gpufleet_planner`.
"""
