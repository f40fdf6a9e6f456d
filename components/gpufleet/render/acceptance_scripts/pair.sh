# All-reduce over two nodes. mpirun starts the second half by `kubectl exec`, so no keys are needed.
. "${SCRIPTS:-/scripts}/lib.sh"
mkdir -p "$RESULTS" && : >"$RESULTS/figures"
if [ "$JOB_COMPLETION_INDEX" != 0 ]; then
  until [ -f "$RESULTS/done" ]; do sleep 5; done
  exit 0
fi
of_peer() {
  kubectl get pods -n "$NAMESPACE" -l "job-name=$JOB,batch.kubernetes.io/job-completion-index=1" \
    --field-selector status.phase=Running -o "jsonpath={.items[0].$1}" 2>/dev/null
}
until peer=$(of_peer metadata.name) && [ -n "$peer" ]; do sleep 5; done
if [ "$TEST" = nccl ]; then
  PATH="$PATH:/opt/amazon/openmpi/bin"
  hosts="$POD:$GPUS,$peer:$GPUS"
  found=$(timeout "${LIMIT:-3600}" mpirun --allow-run-as-root --bind-to none -np $((GPUS * 2)) -H "$hosts" \
    --mca plm_rsh_agent "${SCRIPTS:-/scripts}/remote.sh" --mca btl_tcp_if_include eth0 --mca btl tcp,self \
    -x PATH -x LD_LIBRARY_PATH $FORWARD /opt/nccl-tests/build/all_reduce_perf -b 512M -e "$SIZE" -f 2 -g 1 2>&1)
  code=$?
  bandwidth=$(printf '%s\n' "$found" | awk '$1 ~ /^[0-9]+$/ && NF >= 12 { last = $8 } END { print last }')
  if [ "$code" -ne 0 ] || [ -z "$bandwidth" ]; then
    say nccl-between-gbs "$(printf '%s' "$found" | tail -n 1) (ended with $code)" "a figure" refused
  else
    at_least nccl-between-gbs "$bandwidth" "${LEAST:-}"
  fi
else
  kubectl exec -n "$NAMESPACE" "$peer" -- sh -c 'ib_write_bw --use_cuda=0 --use_cuda_dmabuf -a -F --report_gbits -q 1' >/dev/null 2>&1 &
  sleep 5
  found=$(timeout "${LIMIT:-900}" ib_write_bw -n 5000 --use_cuda=0 --use_cuda_dmabuf -a -F --report_gbits -q 1 "$(of_peer status.podIP)" 2>&1)
  bandwidth=$(printf '%s\n' "$found" | awk '$1 ~ /^[0-9]+$/ && NF == 5 { last = $4 } END { print last }')
  if [ -n "$bandwidth" ]; then
    say ib-write-gbit "$bandwidth" unknown reported
  else
    say ib-write-gbit "$(printf '%s' "$found" | tail -n 1)" "a figure" refused
  fi
fi
kubectl exec -n "$NAMESPACE" "$peer" -- touch "$RESULTS/done"
verdict=accepted
if cut -f 4 "$RESULTS/figures" | grep -qx refused; then verdict=refused; fi
kubectl patch configmap "verdicts-$POOL" -n "$NAMESPACE" --type merge \
  -p "{\"data\": {\"_between-nodes\": \"$(entry "$verdict")\"}}" >/dev/null
