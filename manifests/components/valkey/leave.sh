# Before a server is stopped: another one leads first, so that nobody has to notice a loss.
. "$(dirname "$0")/common.sh"
hand_over 10
