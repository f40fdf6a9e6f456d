module github.com/pulumi/pulumi-kubernetes/sdk/v4

go 1.26.6

require github.com/pulumi/pulumi/sdk/v3 v3.215.0
