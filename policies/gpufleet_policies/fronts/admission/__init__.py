"""Admission front: the rules a cluster can check by itself, as ValidatingAdmissionPolicies."""
