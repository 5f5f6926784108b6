#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: groups
# parties doctor on trees of other machines and on this one: the table, JSON, exit codes, and that nothing is written.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch
tree=$scratch/tree

lay_out() {
	rm -rf "$tree"
	tests/fixtures/machines/make "$tree" "$@"
}

# doctor STATUS LAST-LINE [--root DIR] ARG...: exit status and last line of the table in $scratch/out
doctor() {
	local want=$1 last=$2 status tree=()
	shift 2
	[ "${1:-}" != --root ] || { tree=(--root "$2") && shift 2; }
	"$parties" "${tree[@]}" doctor "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	tap_is "$status $(tail -n 1 "$scratch/out")$(cat "$scratch/err")" "$want $last" \
		"${tree[*]#"$scratch/"} doctor ${*#"$scratch/"}: '$last'"
}

# knob NAME: "USABLE FOUND" of the last table
knob() {
	sed -n "s/^$1  *\(yes\|no\)  *\(.*\)/\1 \2/p" "$scratch/out"
}

# ---- other machines --------------------------------------------------------------------------------------------------
for shape in 'vm-odd' 'i9-12900k cgroup=hybrid' 'vm-2 cgroup=v2-closed'; do
	# shellcheck disable=SC2086
	lay_out $shape
	doctor 0 'run: can' --root "$tree"
	tap_is "$(awk 'length > 120' "$scratch/out")" '' "$shape: the table fits 120 columns"
done
find "$tree" -printf '%p %s %T@ %C@\n' | sort >"$scratch/before"
doctor 0 'run: can' --root "$tree/"
cp "$scratch/out" "$scratch/first"
find "$tree" -printf '%p %s %T@ %C@\n' | sort | cmp -s - "$scratch/before"
tap_ok $? 'nothing in the tree has changed'
doctor 0 'run: can' --root "$tree"
tap_is "$(cat "$scratch/out")" "$(cat "$scratch/first")" 'asked again it says the same'

lay_out vm-2 cgroup=v2-nocpuset
doctor 0 'run: can' --root "$tree"
lay_out vm-2 cgroup=none
mkdir "$scratch/nothing"
doctor 0 'run: can' --root "$tree"
doctor 3 'run: cannot, because bpf: this kernel has no type information, or it is hidden (/sys/kernel/btf/vmlinux)' \
	--root "$scratch/nothing"
tap_is "$(grep -c '^[a-z-]*  *\(yes\|no\)  *[^ ]' "$scratch/out")" 22 \
	'every knob is there on a machine that shows nothing'

# ---- another run -----------------------------------------------------------------------------------------------------
lay_out vm-2
mkdir -p "$tree/run/parties"
echo 4711 >"$tree/run/parties/lock"
ln -s /proc/locks "$tree/proc/locks"
doctor 0 'run: can' --root "$tree"
(
	flock -n 9
	echo held >"$scratch/held"
	exec sleep 60
) 9<>"$tree/run/parties/lock" &
own $!
holder=$!
until [ -s "$scratch/held" ]; do sleep 0.02; done
doctor 3 'run: cannot, because state: pid 4711 steers this machine already' --root "$tree"
tap_is "$(knob state)" 'no another instance is running, pid 4711' 'its holder is named'
end $holder
doctor 0 'run: can' --root "$tree"

# ---- JSON ------------------------------------------------------------------------------------------------------------
json='import json, sys
report = json.load(sys.stdin)
for knob in report["knobs"]:
	assert sorted(knob) == ["advice", "fallback", "found", "knob", "reason", "usable"], knob
	assert type(knob["usable"]) is bool and knob["found"], knob
	assert knob["usable"] or knob["reason"], knob
assert sorted(report) == ["because", "knobs", "run"] and report["run"] is not bool(report["because"])
print(*[knob["knob"] for knob in report["knobs"]])'
names=$(awk '/^[a-z]/ && !/^knob|^run:/ { print $1 }' "$scratch/out" | xargs)
tap_is "$("$parties" --root "$tree" doctor --json | python3 -c "$json")" "$names" \
	'JSON has the same knobs, each with its six keys'
tap_is "$(sed -n 's/^\.It Sy //p' controller/man/parties-doctor.1 | sed 's/ , / /' | xargs)" "$names" \
	'the manual lists the knobs'

# ---- services of a configuration -------------------------------------------------------------------------------------
sleep 600 &
own $!
pid=$!
printf '[service a]\nmatch = pid:%s\ntarget = p99 < 25ms\n' "$pid" >"$scratch/a.conf"
ln -s "/proc/$pid" "$tree/proc/$pid"
doctor 0 'run: can' --root "$tree" -c "$scratch/a.conf"
tap_is "$(knob services)" 'yes 1 service, 0 batches' 'services of a configuration are looked at'
if [ "$(nproc)" -gt 1 ]; then
	taskset -cp 0 "$pid" >/dev/null
	doctor 0 'run: can' --root "$tree" -c "$scratch/a.conf"
	grep -q 'note: *pinned by themselves: a: 1 of 1 threads' "$scratch/out"
	tap_ok $? 'a service that pinned itself is told'
else
	tap_skip 'a service that pinned itself is told' 'needs two CPUs'
fi
printf '[controller]\nspeed = cpufreq\n' | cat - "$scratch/a.conf" >"$scratch/b.conf"
doctor 3 'run: cannot, because frequency: no driver sets the speed of these CPUs' --root "$tree" -c "$scratch/b.conf"
end "$pid"

# ---- usage -----------------------------------------------------------------------------------------------------------
doctor 2 "parties doctor: unexpected operand 'x'; see parties doctor --help" x
doctor 2 '/nonexistent: cannot be read: No such file or directory' -c /nonexistent
"$parties" --root "$tree" doctor >/dev/full 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '1 parties doctor: the output cannot be written: No space left on device' \
	'an output that cannot be written is a failure'
tap_done
