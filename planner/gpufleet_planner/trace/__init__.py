"""Traces: tasks that arrive one by one on a cluster with CPU, host memory and parts of GPUs."""
