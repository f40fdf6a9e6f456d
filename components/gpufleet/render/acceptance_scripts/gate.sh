# Reads the figures, writes the verdict, and gives the node back or keeps it.
. "${SCRIPTS:-/scripts}/lib.sh"
set -eu
: >>"$RESULTS/figures"
published=$(kubectl get node "$NODE" -o 'jsonpath={.status.allocatable}')
for pair in ${ADVERTISED:-}; do
  name=${pair%=*}
  there=$(printf '%s' "$published" | sed -n "s|.*\"$name\":\"\([0-9]*\)\".*|\1|p")
  exactly "advertised-$name" "${there:-0}" "${pair##*=}"
done
verdict=accepted
if cut -f 4 "$RESULTS/figures" | grep -qx refused; then verdict=refused; fi
# Each test container wrote a figure, or it did not run.
for test in $TESTS; do
  if ! cut -f 1 "$RESULTS/figures" | grep -q "^$test"; then
    say "$test" "no result" "a result" refused
    verdict=refused
  fi
done
gone=""
kubectl get nodes -o name >"$RESULTS/nodes"
for one in $(kubectl get configmap "verdicts-$POOL" -n "$NAMESPACE" -o 'go-template={{range $node, $entry := .data}}{{$node}} {{end}}'); do
  grep -qx "node/$one" "$RESULTS/nodes" || case "$one" in _*) true ;; *) false ;; esac || gone="$gone, \"$one\": null"
done
kubectl patch configmap "verdicts-$POOL" -n "$NAMESPACE" --type merge -p "{\"data\": {\"$NODE\": \"$(entry "$verdict")\"$gone}}" >/dev/null
if [ "$verdict" = accepted ]; then
  kubectl taint node "$NODE" gpufleet.dev/not-accepted- >/dev/null
  kubectl label node --overwrite "$NODE" "gpufleet.dev/accepted=$KEY" >/dev/null
  kubectl delete configmap -n "$NAMESPACE" -l "gpufleet.dev/node=$NODE" >/dev/null
  : >"$RESULTS/verdict"
  exec sleep infinity
fi
kubectl taint node --overwrite "$NODE" gpufleet.dev/not-accepted=refused:NoSchedule >/dev/null
: >"$RESULTS/verdict"
sleep "$RETRY"
kubectl delete pod "$POD" -n "$NAMESPACE" --wait=false >/dev/null
exec sleep infinity
