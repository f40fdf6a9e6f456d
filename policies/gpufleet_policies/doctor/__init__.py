"""The doctor: causes in a dump of a cluster, each with evidence, its chain, a fix and a source."""
