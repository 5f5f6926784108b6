#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: groups
# parties doctor on this machine: nothing is written, and where everything is read-only it says so and a run agrees.
set -uo pipefail
. tests/lib.sh

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may mount'
parties=$BUILD/parties
scratch
unshare -m true 2>/dev/null || tap_skip_all 'mount namespaces are forbidden'

# Everything but our scratch directory is read-only for what is run here, every file system of the kernel's too.
read_only() {
	SCRATCH=$scratch unshare -m sh -c 'mount --bind "$SCRATCH" "$SCRATCH"
		awk "{ print \$5 }" /proc/self/mountinfo | while read -r dir; do
			[ "$dir" = "$SCRATCH" ] || mount -o remount,bind,ro "$(printf "%b" "$dir")" 2>/dev/null
		done
		! mkdir "/run/parties.$$" 2>/dev/null || { rmdir "/run/parties.$$"; exit 77; }
		exec "$@"' sh "$@"
}

groups=$(find /sys/fs/cgroup -type d -name parties -prune -o -type d -print | sort)
read_only "$parties" doctor --json >"$scratch/out" 2>"$scratch/err"
status=$?
[ $status -ne 77 ] || tap_skip_all 'a read-only /run cannot be had'
tap_is "$status $(cat "$scratch/err")" '3 ' 'where nothing can be written it ends well, and says that a run cannot work'
tap_is "$(find /sys/fs/cgroup -type d -name parties -prune -o -type d -print | sort)" "$groups" 'control groups are as before'

# knob NAME KEY
knob() {
	python3 -c 'import json, sys
print(next(k[sys.argv[2]] for k in json.load(open(sys.argv[1]))["knobs"] if k["knob"] == sys.argv[3]))' "$scratch/out" "$2" "$1"
}
tap_is "$(knob bpf usable)" True 'the kernel programs load all the same'
tap_is "$(knob cpuset usable) $(knob cpuset reason)" 'False mounted read-only' 'a read-only cpuset is told'
case $(knob state reason) in *'steers this machine already')
	tap_skip 'a read-only /run is told' "another run: $(knob state found)"
	tap_done
	;;
esac
tap_is "$(knob state usable) $(knob state reason)" 'False /run/parties: Read-only file system' 'a read-only /run is told'

sleep 600 &
own $!
printf '[service a]\nmatch = pid:%s\ntarget = p99 < 25ms\n' $! >"$scratch/a.conf"
read_only "$parties" run -c "$scratch/a.conf" --for 1s >"$scratch/run" 2>&1
tap_is "$? $(grep -c 'Read-only file system' "$scratch/run")" '3 1' 'a run there is refused with the same reason'
tap_note "$(cat "$scratch/run")"
tap_done
