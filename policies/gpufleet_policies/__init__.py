"""Rules that refuse GPU waste and impossibility, over facts, through several fronts.

`facts` say what is known, `adapters` read them from someone's documents, `rules` validate them,
`money` prices what they find, and `fronts` report: to the Pulumi engine today.
"""
