# What both start scripts share: who else there is, and whom the Sentinels take for the primary.
set -eu

NAME=pilotlight
PEERS="${PEERS:-valkey-0.valkey valkey-1.valkey valkey-2.valkey}"
PORT="${PORT:-6379}"
SENTINEL_PORT="${SENTINEL_PORT:-26379}"
DATA="${DATA:-/data}"
BIND="${BIND:-* -::*}"
SELF="${SELF:-$(hostname).valkey}"
# Folder with tls.crt, tls.key and ca.crt; empty: no encryption (component valkey-tls).
TLS="${TLS:-}"
CLI="valkey-cli --no-auth-warning${TLS:+ --tls --cacert $TLS/ca.crt}"

first_peer() { set -- $PEERS; echo "$1"; }

# sentinel HOST WORDS...: asks one Sentinel, as one of the Sentinels.
sentinel() {
  host=$1; shift
  VALKEYCLI_AUTH=$INTERNAL_PASSWORD REDISCLI_AUTH=$INTERNAL_PASSWORD \
    timeout 2 $CLI --user internal -h "$host" -p "$SENTINEL_PORT" --raw "$@" 2>/dev/null
}

# The primary that some other Sentinel names, or nothing. Where one cannot be reached in time, that
# is no answer, and it is asked again: whoever takes silence for a first start leads an empty set.
known_primary() {
  rounds=0
  while [ "$rounds" -lt 8 ]; do
    rounds=$((rounds + 1))
    silent=
    for peer in $PEERS; do
      [ "$peer" = "$SELF" ] && continue
      status=0
      answer=$(sentinel "$peer" sentinel get-master-addr-by-name "$NAME") || status=$?
      [ "$status" -eq 124 ] && silent=yes
      found=$(echo "$answer" | head -n 1)
      case $found in '' | *' '*) continue ;; esac
      echo "$found"
      return
    done
    [ -n "$silent" ] || return 0
  done
}

# hand_over SECONDS: sets $primary, and while that is us, has a Sentinel promote another.
hand_over() {
  tries=0
  primary=$(known_primary)
  while [ "$primary" = "$SELF" ] && [ "$tries" -lt "$1" ]; do
    # One order at a time: two Sentinels that act at once undo each other.
    if [ $((tries % 10)) -eq 0 ]; then
      for peer in $PEERS; do
        [ "$peer" = "$SELF" ] && continue
        [ "$(sentinel "$peer" sentinel failover "$NAME")" = OK ] && break
      done
    fi
    tries=$((tries + 1))
    sleep 1
    primary=$(known_primary)
  done
}

# The lines of a configuration that say where to listen, and how.
listen_at() {
  echo "bind $BIND"
  if [ -z "$TLS" ]; then
    echo "port $1"
    return
  fi
  echo "port 0"
  echo "tls-port $1"
  echo "tls-cert-file $TLS/tls.crt"
  echo "tls-key-file $TLS/tls.key"
  echo "tls-ca-cert-file $TLS/ca.crt"
  # Passwords say who somebody is; the certificates say who the servers are.
  echo "tls-auth-clients no"
  echo "tls-replication yes"
}

# A name that does not resolve ends both servers at their start.
wait_for_name() {
  tries=0
  until getent ahosts "$1" >/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -ge 120 ] && { echo "no address for $1 after a minute" >&2; exit 1; }
    sleep 0.5
  done
}
