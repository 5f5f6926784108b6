#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 180
# The short form of `make demo` on real services: search gains cores or speed while its load rises and gives them back when
# it falls, the figure is drawn, its record replays, and nothing is left behind.
set -uo pipefail
. tests/lib.sh

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may move cores'
scratch

rm -f "$BUILD"/demo/fig11.*
experiments/fig11/demo --quick --port 21250 >"$scratch/log" 2>&1
status=$?
[ $status -ne 3 ] || tap_skip_all "$(grep -B1 '^demo: this machine' "$scratch/log" | xargs)"
tap_is $status 0 'the demo ends well'
[ $status -eq 0 ] || tap_note "$(cat "$scratch/log")"

# Capacity of search (cores times speed) on the way up, at its most, and at the end.
python3 - "$BUILD/demo/record.jsonl" >"$scratch/capacity" <<'END'
import json, sys

ticks = [tick for tick in map(json.loads, open(sys.argv[1])) if "services" in tick and "t_s" in tick]
capacity, load = [], []
for tick in ticks:
    search = next(s for s in tick["services"] if s["name"] == "search")
    if "cores" in search:
        capacity.append(search["cores"] * search.get("khz", search.get("permille", 1000)))
        load.append(search["rps"])
peak = load.index(max(load))
low, high, end = min(capacity[: peak + 1]), max(capacity), capacity[-1]
print("up" if max(capacity[capacity.index(low):]) > low else "never more than at its least")
print("down" if min(capacity[capacity.index(high):]) < high else "nothing given back")
print(len(ticks), "ticks; least before the peak", low, "most", high, "last", end)
END
tap_is "$(sed -n 1p "$scratch/capacity")" up 'search gains capacity while its load rises'
tap_is "$(sed -n 2p "$scratch/capacity")" down 'search gives capacity back when its load falls'
tap_note "$(sed -n 3p "$scratch/capacity")"

# What was decided on live services follows from the record alone; where another policy decides otherwise is named.
replay() {
	"$BUILD/parties" replay "$BUILD/demo/record.jsonl" "$@" >"$scratch/replay" 2>&1
	tap_is $? "$status" "replay${*:+ $*}: exit status"
	grep -q "$pattern" "$scratch/replay"
	tap_ok $? "replay${*:+ $*}: '$pattern'"
	tap_note "$(head -n 3 "$scratch/replay" | cut -c1-300)"
}
status=0 pattern=': [0-9]* decisions, all as recorded$' replay
status=1 pattern=':[0-9]*: first difference: tick [0-9]*, [0-9.]* s, service [a-z]*$' replay --policy static

for kind in svg png; do
	[ -s "$BUILD/demo/fig11.$kind" ]
	tap_ok $? "a figure is drawn as $kind"
done
grep -q 'as before' "$scratch/log"
tap_ok $? 'the machine is as before'
tap_done
