"""Simulators of the AWS and Google providers; the program under test is unchanged.

The engine starts `pulumi-resource-aws` and `pulumi-resource-gcp` as always; here they check every
input against the installed SDK, keep created resources in a folder, and build the API requests
that the cloud would receive. Facts that the SDK lacks (which change forces a replacement, which
values an enumeration has) are small tables with sources.
"""
