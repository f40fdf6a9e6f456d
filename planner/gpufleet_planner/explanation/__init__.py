"""Each number of an answer: its formula, basis (measured, modelled, assumed) and source."""
