#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: groups
# The README's tour with two real services, nginx and memcached, from its configuration to the figure.  Nothing is steered,
# unless all is asked for: a live run is one of a kind on a machine.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

parties=$BUILD/parties
for program in nginx memcached; do
	command -v $program >/dev/null || tap_skip_all "$program is not installed"
done
[ "$(id -u)" -eq 0 ] || tap_skip_all 'kernel programs need root'
scratch
read -r web cache < <(python3 -c 'import socket
s = [socket.socket() for i in range(2)]
for i in s: i.bind(("127.0.0.1", 0))
print(*(i.getsockname()[1] for i in s))')
mode=observe load_for=1500ms
[ -z "${TEST_ALL:-}" ] || mode=live load_for=8s

echo hello >"$scratch/index.html"
cat >"$scratch/nginx.conf" <<END
daemon off;
user root;
worker_processes 1;
pid $scratch/nginx.pid;
events { }
http {
	access_log off;
	client_body_temp_path $scratch/body;
	proxy_temp_path $scratch/proxy;
	fastcgi_temp_path $scratch/fastcgi;
	uwsgi_temp_path $scratch/uwsgi;
	scgi_temp_path $scratch/scgi;
	server { listen 127.0.0.1:$web; root $scratch; }
}
END
nginx -e stderr -p "$scratch" -c "$scratch/nginx.conf" 2>"$scratch/nginx.errors" &
own $!
memcached -u root -l 127.0.0.1 -p "$cache" -t 1 2>"$scratch/memcached.errors" &
own $!
wait_for_port "$web" && wait_for_port "$cache"
tap_ok $? 'two services are there'

# The configuration of the README, with our ports and without its batch.
awk '/```ini/ { on = 1; next } /```/ { on = 0 } on && /\[batch/ { exit } on' README.md |
	sed "s/^   //; s/port:8082/port:$web/; s/exe:memcached/port:$cache/; s/^cores.*//" >"$scratch/my.conf"
tap_try 'the configuration of the README is theirs' "$parties" check -c "$scratch/my.conf"

"$parties" run -c "$scratch/my.conf" --mode $mode --for 60s --record "$scratch/my.jsonl" --web 0 \
	>"$scratch/run.out" 2>"$scratch/run.err" &
run=$!
own $run
for _ in {1..200}; do
	! grep -q '^event=start' "$scratch/run.err" && kill -0 $run 2>/dev/null || break
	sleep 0.05
done
(load web --protocol http --url "http://127.0.0.1:$web/" --rate 400 --for $load_for) >"$scratch/load.web" &
own $!
loads=$!
(load cache --protocol memcached --to "127.0.0.1:$cache" --rate 400 --for $load_for) >"$scratch/load.cache" &
own $!
loads="$loads $!"
for _ in {1..100}; do
	[ "$(wc -l 2>/dev/null <"$scratch/my.jsonl")" -gt 3 ] 2>/dev/null && break
	kill -0 $run 2>/dev/null || break
	sleep 0.05
done
"$parties" status --pid $run >"$scratch/status" 2>&1
tap_is "$? $(sed -n 's/^\(search\|cache\) .* p99 < .*/\1/p' "$scratch/status" | xargs)" '0 search cache' \
	'status shows both while they are measured'
tap_note "$(cat "$scratch/status")"
"$parties" explain search --pid $run >"$scratch/explain" 2>&1
tap_is "$? $(head -c 6 "$scratch/explain")" '0 search' 'explain knows one of them'
wait $loads
tap_is "$(cat "$scratch"/load.* | grep -c '^ok')" 2 'both services have answered every request'
kill -INT $run
wait $run
tap_is $? 0 'the run ends well'
tap_note "$(cat "$scratch/run.err")"
disown_pid $run
tap_is "$(sed -n 's/^  late requests  *\([a-z]*\): .* of [1-9][0-9]* .*/\1/p' "$scratch/run.out" | xargs)" 'search cache' \
	'the summary has requests of both'

tap_try 'a figure comes out of the record' "$parties" report "$scratch/my.jsonl" -o "$scratch/my.svg"
tap_is "$(grep -c 'search\|cache' "$scratch/my.svg" | sed 's/^[1-9].*/some/')" some 'and names the services'
tap_try 'the decisions come out of it again' "$parties" replay "$scratch/my.jsonl"
tap_try 'and are explained' "$parties" explain search -r "$scratch/my.jsonl"
tap_done
