#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 120
# waits: yes
# A gRPC server is measured call by call through its library, whether clients keep connections or not; never more than
# its client saw, never less than it computed.  What has no library, or one without symbols, is named.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may load BPF programs'
scratch

program=$BUILD/hotel-search

# serve PORT WEIGHT [LIBRARY-PATH]: $program; sets $server
serve() {
	local i
	LD_LIBRARY_PATH=${3:-} "$program" --port "$1" --threads 2 --weight "$2" >"$scratch/server.$1" 2>&1 &
	server=$!
	own $server
	for i in $(seq 100); do
		grep -q ready "$scratch/server.$1" && return
		sleep 0.1
	done
	tap_note "$(cat "$scratch/server.$1")"
}

# CPU time of a process's threads so far, us
cpu_us() {
	cat "/proc/$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum / 1000 }'
}

# compare NAME PORT N RATE LOAD-ARGS...: the median lies between the CPU time of a call and what its client saw.
compare() {
	local name=$1 port=$2 n=$3 rate=$4 observed client used counter
	shift 4
	observed=$scratch/$name.observe client=$scratch/$name.load
	serve "$port" 100
	watch "$port" "$name" --lifecycle grpc
	used=$(cpu_us "$server")
	load "$name" --protocol grpc --to 127.0.0.1:"$port" --requests "$n" --rate "$rate" "$@"
	used=$((($(cpu_us "$server") - used) / n))
	watched "$name"
	end "$server"
	tap_is "$(field requests "$observed")" "$n" "$name: exactly the client's $n calls"
	tap_is "$(field arrivals "$observed")" "$n" "$name: as many arrived"
	tap_is "$(field in_flight "$observed")" 0 "$name: none is left in flight"
	for counter in unprobed long_lived missed aborted; do
		tap_is "$(field $counter "$observed")" 0 "$name: none is $counter"
	done
	# What gRPC does around a call is in its CPU time and not in its life.
	at_least "$(field p50_us "$observed")" "$used" 0.6 "$name: p50 is at least what a call computes"
	at_most "$(field p50_us "$observed")" "$(field p50_us "$client")" "$name: p50 is at most the client's"
	at_most "$(field p99_us "$observed")" "$(field p99_us "$client")" "$name: p99 is at most the client's"
}

at_most() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a <= 1.016 * b) }'
	tap_ok $? "$3 ($1 us, client $2 us)"
}

at_least() {
	awk -v a="$1" -v b="$2" -v part="$3" 'BEGIN { exit !(b > 0 && a >= part * b) }'
	tap_ok $? "$4 ($1 us, of $2 us)"
}

# refuse NAME PID FILE: the observer says at once what it cannot probe
refuse() {
	"$BUILD/parties" observe --pid "$2" --lifecycle grpc --for 200ms >"$scratch/$1.out" 2>&1
	tap_is $? 3 "$1: cannot be observed"
	grep -q "$3.*symbol" "$scratch/$1.out"
	tap_ok $? "$1: the message names $3"
	tap_note "$(cat "$scratch/$1.out")"
}

compare keeping 21520 300 60 --connections 4
compare closing 21521 200 40 --close

# More than the server can do: requests wait unread while its threads compute, and that is not lost.
serve 21522 100
watch 21522 waiting --lifecycle grpc
load waiting --protocol grpc --to 127.0.0.1:21522 --requests 200 --rate 2000 --connections 8
watched waiting
end "$server"
tap_is "$(field requests "$scratch/waiting.observe")" 200 'waiting: exactly the 200 calls'
# The rest is the client's own queue: what is seen by stream is no more.
for value in p50_us p99_us; do
	at_least "$(field $value "$scratch/waiting.observe")" "$(field $value "$scratch/waiting.load")" 0.5 \
		"waiting: most of what the client waited is seen in $value"
done
at_most "$(field p99_us "$scratch/waiting.observe")" "$(field p99_us "$scratch/waiting.load")" \
	'waiting: p99 is at most what the client saw'

# The library inside the program, which is not even relocated; and then without its symbols.
if g++ -static "$BUILD"/experiments/{hotel-search,common}/*.o -Wl,--start-group $(pkg-config --static --libs grpc) \
	-Wl,--end-group -o "$scratch/static-search" 2>"$scratch/link"; then
	program=$scratch/static-search
	compare static 21524 100 60 --connections 2
	strip "$program"
	serve 21525 1
	refuse 'stripped' "$server" static-search
	end "$server"
	program=$BUILD/hotel-search
else
	tap_skip static "gRPC does not link statically: $(tail -1 "$scratch/link")"
fi

sleep 20 &
own $!
refuse 'no library' $! "$(command -v sleep)"

# What a stripped library lacks: the names, here of the two functions.
library=$(ldd "$BUILD/hotel-search" | awk '$1 ~ /^libgrpc\.so/ { print $3 }')
mkdir "$scratch/stripped"
sed 's/18grpc_chttp2_streamC/18xxxx_chttp2_streamC/g; s/grpc_chttp2_mark_stream/xxxx_chttp2_mark_stream/g' "$library" \
	>"$scratch/stripped/${library##*/}"
serve 21523 1 "$scratch/stripped"
refuse 'no symbols' "$server" "${library##*/}"
end "$server"
tap_done
