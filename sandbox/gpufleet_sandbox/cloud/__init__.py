"""Stand-ins for the AWS and Google providers; the program under test is unchanged.

The engine starts `pulumi-resource-aws` and `pulumi-resource-gcp` as always; here they check every
input against the installed SDK, keep what was made in a folder, and build the same API requests the
cloud would receive. Where the SDK says nothing (what forces a replacement, which values an
enumeration has) small tables with sources say it.
"""
