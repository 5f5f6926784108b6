# SPDX-License-Identifier: GPL-2.0
# The kernel of the virtual machine lacks the socket tracepoints: the function path must load there and count as exactly.
. tests/lib.sh
. tests/live/observe.lib
scratch

memcached -u nobody -l 127.0.0.1 -p 21220 -t 4 -m 64 &
own $!
wait_for_port 21220
watch 21220 memcached
load memcached --protocol memcached --to 127.0.0.1:21220 --connections 16 --requests 3000 --rate 500
watched memcached
tap_is "$(field requests "$scratch/memcached.observe")" 3000 'memcached: the kernel counted 3000 requests'
tap_note "$(tail -n 1 "$scratch/memcached.observe")"

truth-server --port 21230 --out "$scratch/truth" >/dev/null &
server=$!
own $server
wait_for_port 21230
watch 21230 truth
load truth --protocol truth --to 127.0.0.1:21230 --connections 8 --requests 500 --rate 50 --service-us 50000..100000
watched truth
end $server
tap_is "$(field requests "$scratch/truth.observe")" 500 'truth-server: the kernel counted 500 requests'
observed=$(field service_p99_us "$scratch/truth.observe")
truth=$(field p99_us "$scratch/truth")
awk -v a="$observed" -v b="$truth" 'BEGIN { exit !(b > 0 && a > 0.98 * b && a < 1.02 * b) }'
tap_ok $? "truth-server: service p99 is the truth ($observed us, $truth us)"
tap_done
