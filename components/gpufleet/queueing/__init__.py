"""Queues: who may use the GPUs, and when."""
