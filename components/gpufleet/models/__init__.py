"""Memory that a model needs on GPUs, slices and shares: what rules and compile ask of sizing.

    from gpufleet.models.inference import serving_ledger

Speed, choice of GPU and price are in `gpufleet_planner`.
"""
