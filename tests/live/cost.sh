#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What can be said of costs without a clock: memory, what is found and what is not touched, and that measuring itself counts.
. tests/lib.sh
cost=$BUILD/cost

tap_try "a snapshot by octaves has every request" "$cost/snapshot" 2
tap_try 'three ways to a percentile of the last requests agree' "$cost/rolling" 1
"$cost/around" >/dev/null 2>&1
tap_is $? 2 'a measurement without a command is refused'
experiments/cost/run --rounds none >/dev/null 2>&1
tap_is $? 2 'a number of rounds that is none is refused'

if [ "$(id -u)" -ne 0 ]; then
	tap_skip 'what the kernel programs cost' 'not root'
	tap_done
fi
scratch
"$cost/memory" >"$scratch/memory"
tap_is "$(awk '$1 == "memory_8_services_256_cpus_bytes" { print ($2 <= 16 * 1048576) ? "fits" : $2 }' "$scratch/memory")" fits \
	'eight services on 256 CPUs fit into 16 MiB, maps and programs included'
if [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt 10100 ]; then
	tap_try 'all of 10,000 open connections are found' "$cost/attach" 1
else
	tap_skip 'all of 10,000 open connections are found' "at most $(ulimit -Hn) open files are allowed"
fi

"$cost/bystander" serve >"$scratch/port" &
partner=$!
own $partner
until [ -s "$scratch/port" ]; do sleep 0.05; done
"$cost/reader" $partner >"$scratch/reader" 2>"$scratch/reader.log" &
reader=$!
own $reader
until grep -q watching "$scratch/reader.log" || ! kill -0 $reader 2>/dev/null; do sleep 0.05; done
tap_is "$("$cost/bystander" files $reader)" 'program_runs_per_file_operation	0' 'no program runs when files are read and written'
tap_try 'a ping-pong is counted' \
	"$cost/around" --out "$scratch/around" --programs $reader --cpu $partner -- \
	"$cost/bystander" ping "$(cat "$scratch/port")" 2000
tap_is "$(awk '$1 == "program" && $2 ~ /^(read|write)_/ { n += $3 >= 4000 } END { print n }' "$scratch/around")" 2 \
	'each end of it ran the programs for reads and writes'
tap_is "$(awk '$1 == "net_ns" { print ($NF > 0) ? "some" : $NF }' "$scratch/around")" some \
	'and that took time beyond empty programs'
tap_is "$(awk '$1 == "cpu_ns" { print ($NF > 0) ? "some" : $NF }' "$scratch/around")" some \
	'as the process itself did'
end $reader
end $partner
tap_done
