"""One file per artefact: each renders compiled data into one format and decides nothing."""
