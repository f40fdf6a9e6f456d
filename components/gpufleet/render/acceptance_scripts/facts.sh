# What nvidia-smi says of the GPUs, against the catalogue. Waits until no program uses them.
. "${SCRIPTS:-/scripts}/lib.sh"
while nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | grep -q '[0-9]'; do
  sleep "${POLL:-30}"
done
fields=name,memory.total,driver_version,ecc.errors.uncorrected.volatile.total,clocks.max.sm
if ! found=$(nvidia-smi --query-gpu=$fields --format=csv,noheader,nounits 2>&1); then
  say nvidia-smi "$(printf '%s' "$found" | tail -n 1)" answers refused
  exit 0
fi
column() { printf '%s\n' "$found" | awk -F', *' -v number="$1" 'NF >= 5 { print $number }'; }
exactly gpus "$(column 1 | grep -c .)" "$GPUS"
at_least memory-mib "$(column 2 | sort -n | head -n 1)" "${MEMORY_MIB:-}"
driver=$(column 3 | sort -u | tr '\n' ' ')
driver=${driver% }
case "$driver." in
  "${DRIVER:-}".* | "${DRIVER:-}"..*) verdict=passed ;;
  *) verdict=refused ;;
esac
[ -n "${DRIVER:-}" ] || verdict=reported
say driver "$driver" "${DRIVER:-unknown}" "$verdict"
errors=$(column 4 | grep -E '^[0-9]+$' | awk '{ sum += $1 } END { if (NR) print sum }')
if [ -n "$errors" ]; then exactly ecc-uncorrected "$errors" 0; else say ecc-uncorrected off unknown reported; fi
say clock-mhz "$(column 5 | sort -n | head -n 1)" unknown reported
rows=$(nvidia-smi --query-remapped-rows=remapped_rows.pending,remapped_rows.failure --format=csv,noheader 2>/dev/null)
if printf '%s' "$rows" | grep -qiE '(^|, *)(yes|1)(,|$)'; then
  say remapped-rows "pending or failed" none refused
fi
if [ "${NVLINK:-}" = yes ]; then
  links=$(nvidia-smi nvlink --status 2>/dev/null)
  dead=$(printf '%s\n' "$links" | grep -ci inactive)
  up=$(printf '%s\n' "$links" | grep -c 'GB/s')
  if [ "$up" -gt 0 ] && [ "$dead" -eq 0 ]; then verdict=passed; else verdict=refused; fi
  say nvlink "$up up, $dead inactive" "all up" "$verdict"
fi
