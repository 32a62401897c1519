# Starts the server as what it has to be: a replica of whom the Sentinels name; the primary only
# where nobody knows one yet.
. "$(dirname "$0")/common.sh"

# Where that is us, we come back empty: whoever holds a copy must lead, or the copies go with us.
hand_over 30
[ -n "$primary" ] || primary=$(first_peer)

umask 077
cat >"$DATA/valkey.conf" <<END
$(listen_at "$PORT")
protected-mode no
dir $DATA
save ""
appendonly no
maxmemory-policy noeviction
disable-thp no
tcp-keepalive 10
replica-announce-ip $SELF
replica-announce-port $PORT
repl-diskless-sync yes
repl-diskless-sync-delay 0
masteruser internal
masterauth $INTERNAL_PASSWORD
user default on nopass resetkeys resetchannels -@all +ping
user pilotlight on >$PASSWORD ~pl* &pl* +@all -@admin -@dangerous +info
user internal on >$INTERNAL_PASSWORD resetkeys &* -@all +psync +replconf +ping +multi +exec +subscribe +publish +info +role +replicaof +slaveof +config|rewrite +client|setname +client|kill +script|kill +function|kill +failover
END
wait_for_name "$SELF"
if [ "$primary" != "$SELF" ]; then
  wait_for_name "$primary"
  echo "replicaof $primary $PORT" >>"$DATA/valkey.conf"
fi
# Large pages, by the two names under which builds of the server look for it.
export MALLOC_CONF=thp:always JE_MALLOC_CONF=thp:always
exec valkey-server "$DATA/valkey.conf"
