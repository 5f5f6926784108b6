#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 120
# waits: yes
# HTTP/2 by stream: the kernel's count equals the client's on real servers, and its latencies never exceed the client's.
# gRPC is HTTP/2.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may load BPF programs'
scratch

at_most() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a <= 1.016 * b) }'
	tap_ok $? "$3 ($1 us, client $2 us)"
}

nothing_lost() {
	local loss
	for loss in aborted no_arrival opaque multiplexed lost; do
		tap_is "$(field $loss "$scratch/$1.observe")" 0 "$1: $loss"
	done
}

# What this kernel cannot do it says in one line.
can_watch() {
	watch "$1" "$2" --lifecycle http2
	[ -s "$scratch/$2.observe" ] && return
	grep -q 'this kernel has no' "$scratch/$2.errors" && tap_skip_all "$(cat "$scratch/$2.errors")"
}

# The windows' sum
requests_so_far() {
	sed -n 's/.*"requests":\([0-9]*\).*/\1/p' "$scratch/$1.observe" | awk '{ sum += $1 } END { print sum + 0 }'
}

# search NAME PORT ARG...: hotel-search under parties-load.
search() {
	local name=$1 port=$2 server i value
	shift 2
	"$BUILD/hotel-search" --port "$port" --weight 1 >"$scratch/$name.server" 2>&1 &
	server=$!
	own $server
	for i in $(seq 100); do
		grep -q ready "$scratch/$name.server" && break
		sleep 0.1
	done
	can_watch "$port" "$name"
	load "$name" --protocol grpc --to 127.0.0.1:"$port" --requests 1500 --rate 300 "$@"
	watched "$name"
	end $server
	tap_is "$(field completed "$scratch/$name.load")" 1500 "$name: the client completed 1500 calls"
	tap_is "$(field requests "$scratch/$name.observe")" 1500 "$name: the kernel counted 1500 calls"
	for value in p50_us p99_us; do
		at_most "$(field $value "$scratch/$name.observe")" "$(field $value "$scratch/$name.load")" \
			"$name: $value is at most the client's"
	done
	nothing_lost "$name"
}

search channels 21610 --connections 4
search closing 21611 --close

if command -v nghttpd >/dev/null && command -v h2load >/dev/null; then
	mkdir "$scratch/www"
	echo hello >"$scratch/www/index.html"
	nghttpd --no-tls -a 127.0.0.1 -d "$scratch/www" 21612 >"$scratch/nghttpd" 2>&1 &
	server=$!
	own $server
	wait_for_port 21612
	# Whoever is asked to measure it as if it were one request after the other says that it cannot, and not that it is idle.
	watch 21612 blind
	h2load -n 200 -c 2 http://127.0.0.1:21612/index.html >"$scratch/h2load" 2>&1
	watched blind
	tap_is "$(field requests "$scratch/blind.observe")" 0 'by exchange: no request is made up'
	tap_is "$(field multiplexed "$scratch/blind.observe")" 2 'by exchange: both connections are declared'
	grep -q '"state":"lost"' "$scratch/blind.observe"
	tap_ok $? 'by exchange: the signal is lost, the service not idle'
	can_watch 21612 nghttpd
	h2load -n 20000 -c 4 -m 32 -t 1 http://127.0.0.1:21612/index.html >"$scratch/h2load" 2>&1
	tap_is $? 0 'nghttpd: h2load ends well'
	watched nghttpd
	end $server
	tap_is "$(sed -n 's/^requests: .* \([0-9]*\) succeeded.*/\1/p' "$scratch/h2load")" 20000 \
		'nghttpd: the client completed 20000 requests'
	tap_is "$(field requests "$scratch/nghttpd.observe")" 20000 'nghttpd: the kernel counted 20000 requests'
	nothing_lost nghttpd

	# Not told what it speaks: found out from one client, said, and right for the next.
	nghttpd --no-tls -a 127.0.0.1 -d "$scratch/www" 21613 >"$scratch/nghttpd" 2>&1 &
	server=$!
	own $server
	wait_for_port 21613
	watch 21613 auto --lifecycle auto
	for i in $(seq 50); do
		h2load -n 100 -c 2 -m 8 -t 1 http://127.0.0.1:21613/index.html >/dev/null 2>&1
		tail -n 1 "$scratch/auto.observe" | grep -q '"lifecycle":"http2"' && break
		sleep 0.1
	done
	sleep 0.5
	before=$(requests_so_far auto)
	h2load -n 5000 -c 4 -m 32 -t 1 http://127.0.0.1:21613/index.html >/dev/null 2>&1
	sleep 0.5
	tap_is $(($(requests_so_far auto) - before)) 5000 'auto: the kernel counted 5000 requests once it knew'
	watched auto
	end $server
	tail -n 1 "$scratch/auto.observe" | grep -q '"lifecycle_reason":"its connections are HTTP/2'
	tap_ok $? 'auto: it says why'
else
	tap_skip 'nghttpd and auto' 'nghttpd and h2load are not installed'
fi
tap_done
