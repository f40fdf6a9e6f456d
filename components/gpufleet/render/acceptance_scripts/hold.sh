# Takes the node out of service before anything is tested. A node in service waits for its turn:
# one node of a pool at a time, and never one that the floor needs.
. "${SCRIPTS:-/scripts}/lib.sh"
set -eu
label=gpufleet.dev/accepted
rm -f "$RESULTS/figures" "$RESULTS/verdict"
in_service() {
  kubectl get nodes -l "gpufleet.dev/pool=$POOL,$label" --field-selector spec.unschedulable=false -o name
}
all_nodes() { kubectl get nodes -l "gpufleet.dev/pool=$POOL" -o name; }
take_turn() {
  kubectl create -f - >/dev/null 2>&1 <<TURN
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "turn-$POOL", "namespace": "$NAMESPACE",
 "labels": {"gpufleet.dev/node": "$NODE"},
 "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "$POD", "uid": "$POD_UID"}]}}
TURN
}
above_floor() {
  left=$(($(in_service | grep -c .) - 1))
  floor="${FLOOR_NODES:-0}"
  if [ -n "${FLOOR_PERCENT:-}" ]; then
    floor=$((($(all_nodes | grep -c .) * FLOOR_PERCENT + 99) / 100))
  fi
  [ "$left" -ge "$floor" ]
}
if in_service | grep -qx "node/$NODE"; then
  until take_turn; do sleep "${POLL:-30}"; done
  until above_floor; do sleep "${POLL:-30}"; done
fi
kubectl taint node --overwrite "$NODE" gpufleet.dev/not-accepted=testing:NoSchedule >/dev/null
kubectl label node "$NODE" "$label-" >/dev/null
