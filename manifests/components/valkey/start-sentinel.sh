# Starts the Sentinel of this pod. Anybody who reaches it may ask for the primary and nothing else;
# the Sentinels among themselves prove who they are.
. "$(dirname "$0")/common.sh"

primary=$(known_primary)
[ -n "$primary" ] || primary=$(first_peer)
wait_for_name "$SELF"
wait_for_name "$primary"

umask 077
cat >"$DATA/sentinel.conf" <<END
$(listen_at "$SENTINEL_PORT")
protected-mode no
dir $DATA
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $SELF
sentinel announce-port $SENTINEL_PORT
sentinel monitor $NAME $primary $PORT 2
sentinel auth-user $NAME internal
sentinel auth-pass $NAME $INTERNAL_PASSWORD
sentinel down-after-milliseconds $NAME 2000
sentinel failover-timeout $NAME 5000
sentinel parallel-syncs $NAME 2
sentinel sentinel-user internal
sentinel sentinel-pass $INTERNAL_PASSWORD
user default on nopass resetkeys &* -@all +ping +info +role +hello +client +command +subscribe +psubscribe +unsubscribe +punsubscribe +sentinel|get-master-addr-by-name +sentinel|get-primary-addr-by-name +sentinel|sentinels +sentinel|replicas +sentinel|slaves +sentinel|myid
user internal on >$INTERNAL_PASSWORD allkeys allchannels +@all
END
exec valkey-server "$DATA/sentinel.conf" --sentinel
