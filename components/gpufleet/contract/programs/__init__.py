"""Rules of installed programs about their values and configurations."""
