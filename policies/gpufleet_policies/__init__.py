"""Rules that refuse GPU waste and impossible configurations, for several front ends.

`readers` read facts from documents, `rules` validate them, `money` prices the findings, and
`fronts` report them: to the Pulumi engine, an audit, a cluster.
"""
