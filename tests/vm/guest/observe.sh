# SPDX-License-Identifier: GPL-2.0
# The kernel of the virtual machine lacks the socket tracepoints: the function path must load there and count as exactly.
. tests/lib.sh
. tests/live/observe.lib
scratch

memcached -u nobody -l 127.0.0.1 -p 21220 -t 4 -m 64 &
own $!
wait_for_port 21220
watch 21220 memcached
load memcached --protocol memcached --to 127.0.0.1:21220 --connections 16 --requests 1500 --rate 500
watched memcached
tap_is "$(field requests "$scratch/memcached.observe")" 1500 'memcached: the kernel counted 1500 requests'
tap_note "$(tail -n 1 "$scratch/memcached.observe")"

# Each request takes 60 ms at least, and its client sees no less than the kernel, however busy the emulator is: between
# those two, within what a histogram may be off, is every percentile.
truth-server --port 21230 >/dev/null &
own $!
wait_for_port 21230
watch 21230 truth
load truth --protocol truth --to 127.0.0.1:21230 --connections 8 --requests 200 --rate 50 --service-us 60000
watched truth
tap_is "$(field requests "$scratch/truth.observe")" 200 'truth-server: the kernel counted 200 requests'
between() {
	awk -v low="$1" -v a="$2" -v high="$3" 'BEGIN { exit !(a >= 0.984 * low && a <= 1.016 * high) }'
	tap_ok $? "truth-server: $4: $1 <= $2 <= $3 us"
}
between 60000 "$(field p50_us "$scratch/truth.observe")" "$(field p50_us "$scratch/truth.load")" 'half of them'
between 60000 "$(field service_p99_us "$scratch/truth.observe")" "$(field total_p99_us "$scratch/truth.observe")" 'p99 of service'
between 60000 "$(field total_p99_us "$scratch/truth.observe")" "$(field p99_us "$scratch/truth.load")" 'p99 of all'
tap_done
