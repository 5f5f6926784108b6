# SPDX-License-Identifier: GPL-2.0
# Sourced by test scripts: TAP output and a clean end.  Plain POSIX sh with `local`, since the virtual machine's guest runs
# it under busybox.  Does not start or measure anything itself.
#
#   tap_ok STATUS NAME...      STATUS 0 passes; anything else fails
#   tap_is GOT WANT NAME...    compares strings and shows both when they differ
#   tap_try NAME COMMAND...    runs COMMAND; its output is shown only when it fails
#   tap_skip NAME REASON       counts as skipped
#   tap_skip_all REASON        the whole script cannot run here; exits
#   tap_done                   prints the plan and exits 1 if anything failed
#   scratch                    sets $scratch to a directory removed at exit
#   own PID...                 processes to end at exit, whatever happens
#   end PID, disown_pid PID    ends one now; it is known to be over
#   at_exit COMMAND            to be run at exit, last one first

tap_count=0
tap_failed=0
own_pids=
exit_commands=

tap_note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

tap_ok() {
	local status=$1
	shift
	tap_count=$((tap_count + 1))
	if [ "$status" -eq 0 ]; then
		echo "ok $tap_count - $*"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $*"
	fi
}

tap_is() {
	local got=$1 want=$2
	shift 2
	[ "$got" = "$want" ]
	tap_ok $? "$*"
	[ "$got" = "$want" ] || tap_note "got:  $got
want: $want"
}

tap_try() {
	local name=$1 output status
	shift
	output=$("$@" 2>&1)
	status=$?
	tap_ok $status "$name"
	[ $status -eq 0 ] || tap_note "exit status $status: $*
$output"
}

tap_skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

tap_skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

tap_done() {
	echo "1..$tap_count"
	[ $tap_failed -eq 0 ]
	exit
}

own() {
	own_pids="$own_pids $*"
}

# A number that is over may be given to somebody else's process.
disown_pid() {
	local pid kept=
	for pid in $own_pids; do
		[ "$pid" = "$1" ] || kept="$kept $pid"
	done
	own_pids=$kept
}

at_exit() {
	exit_commands="$1
$exit_commands"
}

scratch() {
	scratch=$(mktemp -d) || exit 1
	at_exit "rm -rf '$scratch'"
}

# Ends a process this script started and waits for it; a stopped one is continued so that it can take the signal.
end() {
	local pid=$1 tries=0
	kill -TERM "$pid" 2>/dev/null
	kill -CONT "$pid" 2>/dev/null
	while kill -0 "$pid" 2>/dev/null && [ $tries -lt 50 ]; do
		case $(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null) in Z | '') break ;; esac
		sleep 0.1
		tries=$((tries + 1))
	done
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	disown_pid "$pid"
}

leave() {
	local status=$? pid
	trap '' INT TERM HUP
	trap - EXIT
	for pid in $own_pids; do
		end "$pid"
	done
	eval "$exit_commands"
	exit $status
}

trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
