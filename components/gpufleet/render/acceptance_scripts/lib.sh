# What every test uses: one line for each figure, "name<TAB>figure<TAB>expected<TAB>verdict".
PATH="$PATH:${TOOLS:-/tools}:/usr/local/nvidia/bin"
# Where the platform puts a driver of its own.
LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64"
export PATH LD_LIBRARY_PATH
RESULTS="${RESULTS:-/results}"
say() {
  figure=$(printf '%s' "$2" | tr -d '"\\' | tr '\t\n' '  ')
  printf '%s\t%s\t%s\t%s\n' "$1" "$figure" "$3" "$4" >>"$RESULTS/figures"
}
# An expectation that is not known is no verdict: the figure is reported.
at_least() {
  if [ -z "$3" ]; then
    say "$1" "$2" unknown reported
  elif awk -v found="$2" -v least="$3" 'BEGIN { exit !(found + 0 >= least + 0) }'; then
    say "$1" "$2" "at least $3" passed
  else
    say "$1" "$2" "at least $3" refused
  fi
}
exactly() {
  if [ -z "$3" ]; then
    say "$1" "$2" unknown reported
  elif [ "$2" = "$3" ]; then
    say "$1" "$2" "$3" passed
  else
    say "$1" "$2" "$3" refused
  fi
}
# The figures as one entry of the ConfigMap, escaped: it stands in a text of JSON.
entry() {
  awk -F '\t' -v verdict="$1" -v key="$KEY" '
    BEGIN { q = "\\\""; printf "{%sverdict%s: %s%s%s, %skey%s: %s%s%s, %sfigures%s: {", q, q, q, verdict, q, q, q, q, key, q, q, q }
    { printf "%s%s%s%s: {%sfigure%s: %s%s%s, %sexpected%s: %s%s%s, %sverdict%s: %s%s%s}", sep, q, $1, q, q, q, q, $2, q, q, q, q, $3, q, q, q, q, $4, q; sep = ", " }
    END { printf "}}" }' "$RESULTS/figures"
}
