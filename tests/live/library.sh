#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# The manual's worked example, which measures a library that the project does not know: taken from the page as it stands
# there, compiled, and run on a server of that library.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may load BPF programs'
[ -e /usr/include/event2/http.h ] || tap_skip_all "libevent's headers are not installed"
scratch

# The lines between the words example and end in comments of the page; \e is a backslash there.
sed -n '/^\.\\" example: watch-evhttp.c$/,/^\.\\" end$/p' metrics/libebee.3 | grep -v '^\.' | sed 's/\\e/\\/g' \
	>"$scratch/watch-evhttp.c"
libraries=$(pkg-config --libs libbpf libelf)
flags='-std=gnu11 -Wall -Wextra -Werror -O1'
# shellcheck disable=SC2086
tap_try 'the example compiles without a warning' \
	gcc $flags -Imetrics "$scratch/watch-evhttp.c" "$BUILD/libebee.a" $libraries -o "$scratch/watch-evhttp"
# shellcheck disable=SC2086
tap_try 'so does the server' gcc $flags tests/fixtures/evhttp_server.c -levent -o "$scratch/evhttp_server"

# watched_load NAME PORT N LOAD-ARG...: N requests of 3 ms while the example watches
watched_load() {
	local name=$1 port=$2 n=$3 client server watcher
	shift 3
	"$scratch/evhttp_server" "$port" 3000 &
	server=$!
	own $server
	wait_for_port "$port"
	mkfifo "$scratch/$name.enter"
	"$scratch/watch-evhttp" $server <"$scratch/$name.enter" >"$scratch/$name.watch" 2>"$scratch/$name.errors" &
	watcher=$!
	own $watcher
	exec 5>"$scratch/$name.enter"
	for client in $(seq 50); do
		grep -q watching "$scratch/$name.errors" && break
		sleep 0.1
	done
	load "$name" --protocol http --url "http://127.0.0.1:$port/" --requests "$n" --rate 200 "$@"
	echo >&5
	exec 5>&-
	wait $watcher
	tap_is $? 0 "$name: the example ends well"
	disown_pid $watcher
	end $server
	tap_note "$(cat "$scratch/$name.watch" "$scratch/$name.errors")"
	tap_is "$(sed -n 's/^\([0-9]*\) requests.*/\1/p' "$scratch/$name.watch")" "$n" "$name: exactly the $n requests"
	awk -v client="$(field p50_us "$scratch/$name.load")" '{ got = 1000 * $4; exit !(got >= 2976 && got <= 1.016 * client) }' \
		"$scratch/$name.watch"
	tap_ok $? "$name: the median is between 3 ms and the client's"
}

watched_load keeping 21620 300 --connections 4
watched_load closing 21621 200 --close

sleep 20 &
own $!
"$scratch/watch-evhttp" $! </dev/null >"$scratch/none" 2>&1
tap_is $? 1 'a program without the library is refused'
grep -q "no symbol of libevent's HTTP server" "$scratch/none"
tap_ok $? 'and why is said'
tap_done
