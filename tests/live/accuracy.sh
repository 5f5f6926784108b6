#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 60
# waits: yes
# The accuracy experiment on one server at one load: the kernel's count is the client's, its percentiles are at most the
# client's, and what judges them can fail.
set -uo pipefail
. tests/lib.sh

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may load BPF programs'
[ "$(nproc)" -ge 2 ] || tap_skip_all 'one CPU; a server and its client need two'
command -v memcached >/dev/null || tap_skip_all 'memcached is not installed'
command -v gnuplot >/dev/null || tap_skip_all 'gnuplot is not installed'
scratch

accuracy=experiments/accuracy/run
tsv=$scratch/accuracy.tsv

# column NAME: of the only row.
column() {
	awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == 2 { print $at }' "$tsv"
}

# judged NAME COLUMN VALUE WORDS: with that value in the row, what is wrong is said.
judged() {
	awk -F '\t' -v OFS='\t' -v name="$2" -v value="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
		NR == 2 { $at = value }
		{ print }' "$tsv" >"$scratch/wrong.tsv"
	awk -f experiments/accuracy/judge.awk "$scratch/wrong.tsv" >"$scratch/judged"
	tap_is $? 1 "$1: exit 1"
	grep -q "^BROKEN: memcached at 50 %: .*$4" "$scratch/judged"
	tap_ok $? "$1: says so"
}

"$accuracy" --only memcached --loads 50 --seconds 2 --max 4000 --without-naive --port 21090 --out "$scratch" \
	>"$scratch/stdout" 2>"$scratch/stderr"
tap_is $? 0 'memcached at half of 4000 requests/s: every expectation is met'
tap_note "$(cat "$scratch/stdout" "$scratch/stderr")"
tap_is "$(wc -l <"$tsv")" 2 'the table has one row'
[ "$(column client_completed)" -gt 3500 ]
tap_ok $? "the client completed what was asked ($(column client_completed))"
tap_is "$(column requests)" "$(column client_completed)" 'the kernel counted the same'
awk -v ours="$(column p50_us)" -v client="$(column client_p50_us)" 'BEGIN { exit !(ours > 0 && ours <= 1.016 * client) }'
tap_ok $? "p50 is at most the client's ($(column p50_us) us, client $(column client_p50_us) us)"
grep -q '<svg' "$scratch/accuracy.svg"
tap_ok $? 'the figure is there'

judged 'one request too few' requests $(($(column requests) - 1)) 'the kernel counted'
judged 'a failed request' client_errors 1 'requests failed'
judged 'a percentile over the limit' p95_us "$(awk -v us="$(column client_p95_us)" 'BEGIN { print us * 1.02 }')" 'p95 is'
judged 'a percentile that is missing' total_p99_us '' 'no total p99'

for bad in --nonsense --seconds '--seconds 0' '--loads 10,,30' '--only memcached,nobody' '--max fast' '--port 65536'; do
	"$accuracy" $bad >"$scratch/stdout" 2>"$scratch/stderr"
	tap_is $? 2 "usage: run $bad"
done
tap_done
