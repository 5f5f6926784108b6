#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Wrong operands and options of the commands that steer nothing: the exit code and one line on stderr.
set -uo pipefail
. tests/lib.sh

parties=$BUILD/parties
scratch

# refuse STATUS PATTERN COMMAND...: the one line on stderr holds PATTERN.
refuse() {
	local want_status=$1 pattern=$2 status
	shift 2
	"$parties" "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	tap_is "$status" "$want_status" "parties $*: exit status"
	[ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -qF -- "$pattern" "$scratch/err" && [ ! -s "$scratch/out" ]
	tap_ok $? "parties $*: one line that says '$pattern'"
	tap_note "$(cat "$scratch/err")"
}

refuse 2 'an operand is missing' sim
refuse 2 '/nonexistent/x: ' sim /nonexistent/x
refuse 2 "unexpected operand 'b'" sim a b
refuse 2 "'--policy' needs an argument" sim --policy
refuse 2 "unknown policy 'nope'; known:" sim experiments/fig11/fig11.ini --policy nope
refuse 2 "'x' is not a number" sim experiments/fig11/fig11.ini --seed x
refuse 2 '/nonexistent/x: No such file or directory' sim experiments/fig11/fig11.ini --record /nonexistent/x
refuse 2 'an operand is missing' report
refuse 2 '-o FILE is missing' report x.jsonl
refuse 2 '.html .svg .pdf .png .csv' report x.jsonl -o x.xyz
refuse 2 '/nonexistent: No such file or directory' report /nonexistent -o "$scratch/x.svg"
refuse 2 'exactly one of --pid, --port' observe
refuse 2 'exactly one of --pid, --port' observe --port 21097 --pid 1
refuse 2 '--pid 99999999: ' observe --pid 99999999
refuse 2 '--port 0: ' observe --port 0
refuse 2 "'5' is not a duration" observe --port 21097 --interval 5
refuse 3 'start the service first' observe --port 21097
[ -z "$(ls "$scratch" | grep -v '^out$\|^err$')" ]
tap_ok $? 'no output file is left behind'
tap_done
