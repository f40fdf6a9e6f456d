# Ends when each node of the pool has a verdict, or after a time; says which nodes have none.
. "${SCRIPTS:-/scripts}/lib.sh"
set -eu
end=$(($(date +%s) + LIMIT))
while :; do
  waiting=""
  nodes=$(kubectl get nodes -l "gpufleet.dev/pool=$POOL" -o name)
  kubectl get configmap "verdicts-$POOL" -n "$NAMESPACE" \
    -o 'go-template={{range $node, $entry := .data}}{{$node}} {{$entry}}{{"\n"}}{{end}}' >"$RESULTS/entries"
  for node in $nodes; do
    grep -q "^${node#node/} .*$KEY" "$RESULTS/entries" || waiting="$waiting ${node#node/}"
  done
  if [ -z "$waiting" ] && [ "$(printf '%s\n' "$nodes" | grep -c .)" -ge "$MINIMUM" ]; then break; fi
  if [ "$(date +%s)" -ge "$end" ]; then break; fi
  sleep "${POLL:-10}"
done
kubectl patch configmap "verdicts-$POOL" -n "$NAMESPACE" --type merge \
  -p "{\"data\": {\"_waiting\": \"${waiting# }\"}}" >/dev/null
