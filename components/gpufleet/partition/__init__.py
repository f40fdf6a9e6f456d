"""What a GPU is cut into and what the node then advertises: geometry with proof, and arithmetic.

The package itself imports none of its modules: geometry (`placement`, `nearest`) needs none of the
declarations' models, whose import takes a third of a second.
"""
