#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 120
# waits: yes
# Latencies seen by the kernel agree with those of a server that knows the truth, and never exceed the client's.  A new
# connection's request waits until its thread is born: no work of the server's, so there only the service time is compared.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may load BPF programs'
scratch

# within_permille A B LIMIT NAME
within_permille() {
	awk -v a="$1" -v b="$2" -v limit="$3" 'BEGIN { exit !(b > 0 && a >= b * (1 - limit / 1000) && a <= b * (1 + limit / 1000)) }'
	tap_ok $? "$4 ($1 us, truth $2 us)"
}

at_most() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a <= 1.016 * b) }'
	tap_ok $? "$3 ($1 us, client $2 us)"
}

# compare NAME PORT CONNECTION-ARGS...: long requests, so that the scheduler's delays are small beside them.
compare() {
	local name=$1 port=$2 server truth observed client
	shift 2
	truth=$scratch/$name.truth observed=$scratch/$name.observe client=$scratch/$name.load
	"$BUILD/truth-server" --port "$port" --out "$truth" $server_args >/dev/null &
	server=$!
	own $server
	wait_for_port "$port"
	watch "$port" "$name"
	load "$name" --protocol truth --to 127.0.0.1:"$port" --requests 1200 --rate 120 --service-us 20000..80000 "$@"
	watched "$name"
	end $server
	tap_is "$(field requests "$observed")" 1200 "$name: the kernel counted 1200 requests"
	within_permille "$(field service_p99_us "$observed")" "$(field p99_us "$truth")" 20 "$name: service p99 is the truth"
	if [ "$name" != closing ]; then
		within_permille "$(field p50_us "$observed")" "$(field p50_us "$truth")" 20 "$name: p50 is the truth"
		within_permille "$(field p99_us "$observed")" "$(field p99_us "$truth")" 20 "$name: p99 is the truth"
	fi
	at_most "$(field p50_us "$observed")" "$(field p50_us "$client")" "$name: p50 is at most the client's"
	at_most "$(field p99_us "$observed")" "$(field p99_us "$client")" "$name: p99 is at most the client's"
}

server_args='--model blocking'
compare blocking 21230 --connections 16
server_args='--model epoll --pieces --gap 1ms'
compare pieces 21231 --connections 16
server_args='--model blocking'
compare closing 21232 --close
tap_done
