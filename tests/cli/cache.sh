#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# parties on a tree that has resctrl: every policy's decisions about the cache are put in force, recorded, and decided again
# from the record; what the kernel refuses is told and survived; without resctrl it is said what to do.
set -uo pipefail
. tests/lib.sh
. tests/cli/tree.lib

resctrl=$tree/sys/fs/resctrl
span=300ms

# mount_resctrl: 16 ways.  The groups are there already, since no kernel fills them here.
mount_resctrl() {
	local group
	mkdir -p "$resctrl"/info/L3 "$resctrl"/parties-{search,mail,jobs}
	echo ffff >"$resctrl/info/L3/cbm_mask"
	echo 1 >"$resctrl/info/L3/min_cbm_bits"
	echo 16 >"$resctrl/info/L3/num_closids"
	for group in . parties-search parties-mail parties-jobs; do
		echo 'L3:0=ffff;1=ffff' >"$resctrl/$group/schemata"
		: >"$resctrl/$group/tasks"
	done
}

# steer POLICY CACHE [RULE...].
steer() {
	configure $'policy = '"$1"$'\ncache = '"$2"
	run_on_tree $span "${@:3}"
}

# bits GROUP: how many ways it has, or "holes".
bits() {
	local mask=$((16#$(sed 's/.*0=\([0-9a-f]*\);.*/\1/; q' "$resctrl/$1/schemata"))) nr=0
	while [ $((mask & 1)) = 0 ] && [ $mask != 0 ]; do mask=$((mask >> 1)); done
	while [ $((mask & 1)) = 1 ]; do mask=$((mask >> 1)) nr=$((nr + 1)); done
	if [ $mask = 0 ]; then echo $nr; else echo holes; fi
}

steer parties-paper resctrl
tap_is "$? $(grep -c 'resctrl is not mounted\|neither CPU nor kernel' "$scratch/err")" '3 1' 'a cache that must be divided and cannot is an error'
steer parties-paper auto
tap_is "$? $(grep -c 'cache=resctrl' "$scratch/err")" '0 0' 'one that may is left alone'
mount_resctrl
steer parties-paper no
tap_is "$? $(grep -c '"ways"' "$scratch/record") $(bits parties-mail)" '0 0 16' 'nor is one divided that nobody asked for'

for policy in parties-paper parties-released adaptive heracles static; do
	mount_resctrl
	steer $policy resctrl
	tap_is "$? $(grep -c 'event=apply-failed' "$scratch/err")" '0 0' "$policy: every decision is put in force"
	ways=$(grep '"ways":' "$scratch/record" | tail -n 1 | grep -o '"ways":[0-9][0-9]*' | cut -d: -f2 | tr '\n' ' ')
	tap_is "$(bits parties-search) $(bits parties-mail) $(($(bits parties-jobs) - 1)) " "$ways" "$policy: masks are what is recorded ($ways)"
	"$parties" replay "$scratch/record" >"$scratch/out" 2>&1
	tap_is $? 0 "$policy: the record is decided again as it was"
	tap_note "$(cat "$scratch/err" "$scratch/out")"
done

mount_resctrl
steer parties-paper auto '*/parties-mail/schemata write EINVAL 3'
tap_is "$? $(grep -c 'event=apply-failed.*schemata' "$scratch/err") $(grep -c 'event=apply-back' "$scratch/err")" '0 1 1' \
	'a mask that is refused for a while is told once, and planned again'
mount_resctrl
span=20s steer parties-paper auto '*/parties-mail/schemata write EROFS'
tap_is "$? $(grep -c 'event=apply-failed' "$scratch/err")" '4 1' 'one that is refused for ever ends the run'
mount_resctrl
steer parties-paper auto '*/parties-search/tasks write EPERM'
tap_is "$? $(grep -c 'search: cannot use .*parties-search' "$scratch/err")" '3 1' 'threads that may not be moved keep it from starting'
rm -r "$resctrl"/parties-*
steer parties-paper auto
tap_is "$? $(ls -d "$resctrl"/parties-* 2>/dev/null)" '3 ' 'a group that was made for nothing is removed'
tap_done
