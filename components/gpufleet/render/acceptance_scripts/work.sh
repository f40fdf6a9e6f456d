# What work does: one unit of a resource, or a claim, allocated and used.
. "${SCRIPTS:-/scripts}/lib.sh"
PATH="$PATH:/cuda-samples"
if found=$(timeout "${LIMIT:-600}" vectorAdd 2>&1) && printf '%s' "$found" | grep -q 'Test PASSED'; then
  say "work-$RESOURCE" passed passed passed
else
  say "work-$RESOURCE" "$(printf '%s' "$found" | tail -n 1)" passed refused
fi
