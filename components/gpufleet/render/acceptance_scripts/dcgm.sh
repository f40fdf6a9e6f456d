# DCGM's own diagnostics, by a host engine of this container.
. "${SCRIPTS:-/scripts}/lib.sh"
nv-hostengine >/dev/null 2>&1
found=$(timeout "${LIMIT:-7200}" dcgmi diag -r "$LEVEL" 2>&1)
code=$?
failed=$(printf '%s\n' "$found" | grep -E '\| *Fail' | cut -d'|' -f2 | tr -s ' \n' ' ')
if [ "$code" -eq 0 ] && [ -z "$failed" ]; then
  say "diagnostics-$LEVEL" passed passed passed
else
  say "diagnostics-$LEVEL" "${failed:-ended with $code}" passed refused
fi
