# All-reduce over the GPUs of the node: bus bandwidth of the largest message.
. "${SCRIPTS:-/scripts}/lib.sh"
PATH="$PATH:/opt/nccl-tests/build"
found=$(timeout "${LIMIT:-1800}" all_reduce_perf -b 512M -e "$SIZE" -f 2 -g "$GPUS" 2>&1)
code=$?
bandwidth=$(printf '%s\n' "$found" | awk '$1 ~ /^[0-9]+$/ && NF >= 12 { last = $8 } END { print last }')
if [ "$code" -ne 0 ] || [ -z "$bandwidth" ]; then
  say nccl-within-gbs "$(printf '%s' "$found" | grep -v '^#' | tail -n 1) (ended with $code)" "a figure" refused
else
  at_least nccl-within-gbs "$bandwidth" "${LEAST:-}"
fi
