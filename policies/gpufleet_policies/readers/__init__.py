"""Readers: from documents to facts, without any check."""
