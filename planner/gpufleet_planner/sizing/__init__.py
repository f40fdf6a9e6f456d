"""Memory and speed of a model on a GPU, a slice or a share of one.

    from gpufleet.catalogue import load
    from gpufleet_planner.sizing.request import SizeRequest
    from gpufleet_planner.sizing.sized import size

    answer = size(SizeRequest(model="Llama-3.1-8B", context=8192, gpu="L40S"), load())
    answer.ledger.total_bytes, answer.fits, answer.speed

The parts underneath (`inference.serving_ledger`, `training.training_ledger`,
`cache_capacity.capacity`, `serving_rates.serving_replica`, ...) take an `Architecture` and plain
frozen values, for callers that try many combinations. The package imports none of its modules:
a ledger does not need the models that read a request, whose import takes a third of a second.
"""
