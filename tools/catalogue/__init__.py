"""Collectors: from the bytes of published files to rows of the catalogue. `make catalogue` runs them.

A collector is a pure function of stored files. `sources` lists them in the order of trust, `fetch`
downloads what they read, `merge` puts their facts together and refuses contradictions,
`difference` compares with an edition, and `overlay_edition` writes what is new as an overlay.
"""
