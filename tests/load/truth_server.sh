#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 60
# waits: yes
# parties-load against truth-server: every request is answered and counted once in every mode, and the client's
# latencies enclose what the server knows.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

scratch
port=20500

# serve NAME SERVER-ARGS -- LOAD-ARGS: 300 requests of 1 to 3 ms.
serve() {
	local name=$1 args=() server
	shift
	while [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	shift
	port=$((port + 1))
	"$BUILD/truth-server" --port $port --out "$scratch/$name.truth" --list "$scratch/$name.list" "${args[@]}" \
		>"$scratch/$name.ready" &
	server=$!
	own $server
	wait_for_port $port
	load "$name" --protocol truth --to 127.0.0.1:$port --rate 150 --requests 300 --service-us 1000..3000 "$@"
	tap_is "$(field completed "$scratch/$name.load")" 300 "$name: the client completed 300 requests"
	kill -TERM $server
	wait $server
	tap_is $? 0 "$name: the server ends well"
	disown_pid $server
	tap_is "$(cat "$scratch/$name.ready")" ready "$name: it said that it was ready"
	tap_is "$(field count "$scratch/$name.truth")" 300 "$name: the server served 300 requests"
	tap_is "$(wc -l <"$scratch/$name.list")" 300 "$name: the list has 300 times"
	for p in p50_us p99_us mean_us; do
		awk -v client="$(field $p "$scratch/$name.load")" -v truth="$(field $p "$scratch/$name.truth")" \
			'BEGIN { exit !(truth >= 1000 && client * 1.016 >= truth) }'
		tap_ok $? "$name: $p of the client encloses the truth"
	done
}

serve blocking --model blocking --
serve blocking-close --model blocking -- --close
serve pieces --model blocking --pieces --
serve gap --model blocking --gap 2ms --
awk -v truth="$(field p50_us "$scratch/gap.truth")" 'BEGIN { exit !(truth >= 3000) }'
tap_ok $? 'gap: the second write counts'
serve spin --model blocking --spin --
serve epoll --model epoll --
serve epoll-close --model epoll --pieces --gap 1ms -- --close
serve exponential --model epoll -- --spacing fixed --service-us exp:2000

"$BUILD/truth-server" --port $((port + 1)) --until-eof </dev/null >/dev/null
tap_is $? 0 'with --until-eof the server ends with its standard input'
tap_done
