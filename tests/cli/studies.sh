#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shares: yes
# The programs behind figures 7, 8 and 10: usage, the same table however it is computed, nothing computed twice, and
# nothing left running.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
scratch

for program in emu mixes fig8; do
	"$BUILD/$program" --help >"$scratch/help"
	tap_ok $? "'$program --help' explains itself"
	grep -q 'parties-paper' "$scratch/help"
	tap_ok $? "it names the policies"
	for arguments in nobody '--seed x' '--jobs 0' --what '--cache /nowhere/at/all static'; do
		# shellcheck disable=SC2086
		"$BUILD/$program" $arguments >/dev/null 2>"$scratch/err"
		[ $? -ne 0 ] && [ "$(wc -l <"$scratch/err")" -le 2 ] && grep -q "^$program:" "$scratch/err"
		tap_ok $? "'$program $arguments' is refused with a reason"
	done
done
for arguments in '--services 1' '--services 2,9' '--services ,' '--directions 41'; do
	# shellcheck disable=SC2086
	"$BUILD/emu" $arguments static >/dev/null 2>&1
	tap_is $? 2 "'emu $arguments' is refused"
done
"$BUILD/fig8" --services 2 static >/dev/null 2>&1
tap_is $? 2 "fig8 has services of its own"

"$BUILD/emu" --list >"$scratch/list"
cmp -s "$scratch/list" experiments/policies/directions.tsv
tap_ok $? "the directions of figure 7 are those of the file"

# By one process and by two, and by one that was ended in between: the same bytes.
emu() {
	"$BUILD/emu" --directions 1 --services 2 static --each "$@" 2>/dev/null
}
mkdir "$scratch/one" "$scratch/two" "$scratch/three"
emu --cache "$scratch/one" --jobs 1 >"$scratch/first"
emu --cache "$scratch/two" --jobs 2 >"$scratch/second"
"$BUILD/emu" --cache "$scratch/three" --directions 40 >/dev/null 2>&1 &
own $!
pid=$!
sleep 0.3
kill -TERM "$pid"
wait "$pid" 2>/dev/null
disown_pid "$pid"
sleep 0.1
[ -z "$(pgrep -f -- "--cache $scratch/three")" ]
tap_ok $? "a run that is ended takes its processes with it"
emu --cache "$scratch/three" >"$scratch/third"
cmp -s "$scratch/first" "$scratch/second" && cmp -s "$scratch/first" "$scratch/third"
tap_ok $? "the table depends neither on the number of processes nor on interruptions"
awk -F '\t' 'NR == 1 { ok = $6 == "ratio" } $2 == "oracle" { ok = ok && $5 > 50 && $6 == 1; n++ }
	$2 == "static" { ok = ok && $5 > 0 && $6 < 1; n++ } END { exit !(ok && n == 2) }' "$scratch/first"
tap_ok $? "the even split holds less than the best fixed allocation"
tap_note "$(cat "$scratch/first")"

cat "$scratch"/one/*.memo >"$scratch/before"
emu --cache "$scratch/one" >"$scratch/again"
cat "$scratch"/one/*.memo | cmp -s - "$scratch/before" && cmp -s "$scratch/first" "$scratch/again"
tap_ok $? "a second run plays nothing again"

"$BUILD/mixes" --mixes 1 --services 2 --seed 7 --cache "$scratch/one" static >"$scratch/mixes" 2>/dev/null
awk -F '\t' '$2 == "static" { ok = NF == 15 && $6 == "60.0" && $9 == 1 && $12 == "0.000" && $15 ~ /^0:.*=.*=/ }
	END { exit !ok }' "$scratch/mixes"
tap_ok $? "the even split never becomes valid in a mix chosen so that it is not"
"$BUILD/fig8" --grid 2 --cache "$scratch/one" static >"$scratch/fig8" 2>/dev/null
tap_is "$(grep -c -P '^(oracle|static)\t(50|100)\t(50|100)\t-1$' "$scratch/fig8")" 8 \
	"half of xapian's and half of nginx's load do not fit together, so that no cell of a coarse figure 8 holds"
if [ -n "${TEST_ALL:-}" ]; then
	"$BUILD/fig8" --grid 4 --means --cache "$scratch/one" static >"$scratch/fig8" 2>/dev/null
	awk -F '\t' '$1 == "oracle" { best = $4; ok = $5 == "1.000" } $1 == "static" { ok = ok && $4 + 0 < best + 0 }
		END { exit !(ok && best > 0) }' "$scratch/fig8"
	tap_ok $? "the even split holds less of figure 8 than its oracle"
fi
tap_note "$(cat "$scratch/mixes" "$scratch/fig8")"
tap_done
