"""Public files of other people as the jury: labelled findings, and planted faults."""
