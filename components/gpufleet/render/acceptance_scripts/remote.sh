#!/bin/sh
# mpirun's remote shell: "remote.sh HOST COMMAND...", by the API server.
host=$1
shift
exec kubectl exec -n "$NAMESPACE" "$host" -- /bin/sh -c "$*"
