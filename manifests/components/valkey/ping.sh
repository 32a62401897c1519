# For probes: does the server at this port answer? Needs no password.
. "$(dirname "$0")/common.sh"
exec $CLI -h "${BIND_TO:-127.0.0.1}" -p "$1" ping
