"""Every number of an answer with its formula, how well it is known, and where it is from."""
