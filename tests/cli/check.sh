#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# parties check on what is right: the effective configuration, which loads to itself.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch
conf=$scratch/good.conf
sleep 600 &
own $!
printf '[service cli-a]\nmatch=pid:%s\ntarget=p99<25ms\n' $! >"$conf"

"$parties" check -c "$conf" >"$scratch/effective" 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '0 ' 'a right configuration is no error'
tap_is "$(grep -c '^interval  *= 500ms$\|^target  *= p99 < 25ms$' "$scratch/effective")" 2 \
	'values and defaults are shown'
tap_is "$("$parties" check --config="$scratch/effective")" "$(cat "$scratch/effective")" 'what is shown loads to itself'
tap_is "$("$parties" check -c /dev/stdin <"$conf")" "$(cat "$scratch/effective")" 'a pipe is read like a file'

grep -q '^; here: cores=[1-9][0-9]* cpuset=v[12] freezer=v[012] speed=[a-z]' "$scratch/effective" ||
	grep -q '^; a run cannot steer here: ' "$scratch/effective"
tap_ok $? 'what would move cores here is said in a comment'
tap_note "$(grep '^;' "$scratch/effective")"

"$parties" check -c "$conf" >/dev/full 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '1 parties check: the output cannot be written: No space left on device' \
	'output that cannot be written is an error'
tap_done
