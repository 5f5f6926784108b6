#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 90
# waits: yes
# parties-load and the example services: counts, profiles, failures, usage, an early end, calibration.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

scratch

# counter NAME PORT: of memcached.
counter() {
	exec 3<>/dev/tcp/127.0.0.1/"$2"
	printf 'stats\r\nquit\r\n' >&3
	tr -d '\r' <&3 | sed -n "s/^STAT $1 //p"
	exec 3>&-
}

# until_ready FILE: hotel-search says it; gRPC's socket is not listed where wait_for_port looks.
until_ready() {
	local i
	for i in $(seq 100); do
		[ ! -s "$1" ] || return
		sleep 0.1
	done
}

exits() {
	local want=$1 name=$2
	shift 2
	"$@" >"$scratch/stdout" 2>"$scratch/stderr"
	tap_is $? "$want" "$name"
}

# --- memcached
if command -v memcached >/dev/null; then
	as_nobody=
	[ "$(id -u)" -ne 0 ] || as_nobody='-u nobody'
	memcached $as_nobody -l 127.0.0.1 -p 20521 -t 1 -m 64 &
	memcached=$!
	own $memcached
	wait_for_port 20521
	to_memcached='--protocol memcached --to 127.0.0.1:20521'
	load memcached $to_memcached --requests 20000 --rate 10000 --connections 7 --get 80 --value 1000 --report "$scratch/reports"
	tap_is "$(field completed "$scratch/memcached.load")" 20000 'memcached: the client completed 20000 requests'
	tap_is $(($(counter cmd_get 20521) + $(counter cmd_set 20521))) 20000 \
		'memcached: the server counted 20000 requests'

	tap_is "$(grep -o '\(\[\|,\)[0-9.]*,[0-9]*\]' "$scratch/reports" | tr -d '[]' | awk -F, '{ sum += $NF } END { print sum }')" 20000 \
		'memcached: the reports hold every request'
	tap_is "$(grep -o '"sent":[0-9]*' "$scratch/reports" | awk -F: '{ sum += $2 } END { print sum }')" 20000 \
		'memcached: and say when it was sent'
	awk -v lines="$(wc -l <"$scratch/reports")" 'BEGIN { exit !(lines >= 30 && lines <= 60) }'
	tap_ok $? 'memcached: 20 reports a second'
	"$BUILD/parties-load" $to_memcached --requests 600 --rate 600 --report "$scratch/hung" >"$scratch/hung.load" &
	client=$!
	sleep 0.3
	kill -STOP $memcached
	sleep 0.4
	kill -CONT $memcached
	wait $client
	tap_is $? 0 'a server that stands still for a moment answers in the end'
	awk -F'"oldest_us":' '{ if ($2 + 0 > most) most = $2 + 0 } END { exit !(most >= 250000 && $2 + 0 == 0) }' "$scratch/hung"
	tap_ok $? 'meanwhile the reports show for how long the oldest request waits, and at the end none does'
	exits 1 'a report that cannot be written is an error before the first request' "$BUILD/parties-load" $to_memcached \
		--requests 10 --rate 100 --report /nonexistent/reports
	grep -q '^parties-load: --report: /nonexistent/reports$' "$scratch/stderr"
	tap_ok $? 'and it is named'

	before=$(counter total_connections 20521)
	load connect-first $to_memcached --requests 10 --rate 1000 --connections 50 --connect-first
	tap_is $(($(counter total_connections 20521) - before)) 51 'connect-first: 50 connections for 10 requests, and one of ours'

	load profile $to_memcached --profile 'at 0s 0%; ramp 1s 100%; hold 1s; ramp 1s 0%' --max 2000 --spacing fixed \
		--interval 500ms
	awk -v sent="$(field sent "$scratch/profile.load")" 'BEGIN { exit !(sent >= 3990 && sent <= 4010) }'
	tap_ok $? 'profile: a ramp up, a hold and a ramp down send their integral'
	printf '# comment\nat 0s 50%%\nhold 500ms\n' >"$scratch/profile"
	load profile-file $to_memcached --profile "@$scratch/profile" --max 1000 --spacing fixed
	awk -v sent="$(field sent "$scratch/profile-file.load")" 'BEGIN { exit !(sent >= 248 && sent <= 251) }'
	tap_ok $? 'profile: a file does the same'

	"$BUILD/parties-load" $to_memcached --rate 100 --for 1m >"$scratch/early.load" &
	early=$!
	own $early
	sleep 0.7
	kill -INT $early 2>/dev/null
	sleep 0.1
	kill -TERM $early 2>/dev/null
	wait $early
	tap_is $? 0 'early end: a signal ends it well'
	disown_pid $early
	tail -n 1 "$scratch/early.load" | grep -q '"summary":true'
	tap_ok $? 'early end: with its summary'

	exits 0 'calibrate: finds a rate' "$BUILD/parties-load" $to_memcached --calibrate --target 20ms --step 200ms
	awk -v max="$(field max_rps "$scratch/stdout")" 'BEGIN { exit !(max >= 50) }'
	tap_ok $? "calibrate: which is a number ($(cat "$scratch/stdout"))"
	grep -q 'req/s: ok' "$scratch/stderr"
	tap_ok $? 'calibrate: its progress is on stderr'
else
	tap_skip memcached 'memcached is not installed'
fi

# --- redis
if command -v redis-server >/dev/null; then
	redis-server --bind 127.0.0.1 --port 20524 --save '' --appendonly no --dir "$scratch" >/dev/null &
	redis=$!
	own $redis
	wait_for_port 20524
	load redis --protocol redis --to 127.0.0.1:20524 --requests 10000 --rate 10000 --connections 7 --get 80 --value 1000
	tap_is "$(field completed "$scratch/redis.load")" 10000 'redis: the client completed 10000 requests'
	exec 3<>/dev/tcp/127.0.0.1/20524
	printf 'info commandstats\r\nquit\r\n' >&3
	tr -d '\r' <&3 >"$scratch/redis.stats"
	exec 3>&-
	awk -F '[:=,]' '/^cmdstat_(get|set):/ { nr[$1] = $3; all += $3 }
		END { exit !(all == 10000 && nr["cmdstat_get"] > 7700 && nr["cmdstat_get"] < 8300) }' "$scratch/redis.stats"
	tap_ok $? 'redis: the server counted 10000 requests, 80 % of them get'
	end $redis
else
	tap_skip redis 'redis-server is not installed'
fi

# --- gRPC
"$BUILD/hotel-search" --port 20522 --weight 5 >"$scratch/hotel.ready" &
hotel=$!
own $hotel
until_ready "$scratch/hotel.ready"
to_hotel='--protocol grpc --to 127.0.0.1:20522'
load grpc $to_hotel --requests 300 --rate 200 --connections 3
tap_is "$(field completed "$scratch/grpc.load")" 300 'grpc: 300 calls on three connections are answered'
load grpc-close $to_hotel --requests 300 --rate 150 --close
tap_is "$(field completed "$scratch/grpc-close.load")" 300 'grpc: 300 calls on 300 connections are answered'
exits 1 'hotel-search: a port in use is an error' "$BUILD/hotel-search" --port 20522
"$BUILD/parties-load" $to_hotel --rate 100 --for 1m --close >/dev/null &
load=$!
own $load
sleep 0.5
kill -TERM $hotel
wait $hotel
tap_is $? 0 'hotel-search: SIGTERM under load ends it well'
disown_pid $hotel
end $load
tap_is "$(cat "$scratch/hotel.ready")" ready 'hotel-search: it said that it was ready'

# --- http, by a server of a few lines that knows what it was asked
python3 - 20523 <<'END' >"$scratch/http.count" &
import http.server, signal, sys
count = 0
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    def do_GET(self):
        global count
        count += 1
        if self.path == "/missing":
            self.send_error(404)
            return
        body = b"x" * 100
        self.send_response(200)
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"64\r\n" + body + b"\r\n0\r\n\r\n")
            return
        if self.path == "/until-close":
            self.close_connection = True
        else:
            self.send_header("Content-Length", "100")
        if count % 10 == 0:
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
def stop(*args):
    print(count)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
http=$!
own $http
wait_for_port 20523
url=http://127.0.0.1:20523
load http --protocol http --url $url/page --requests 200 --rate 200 --connections 4
tap_is "$(field completed "$scratch/http.load")" 200 'http: a server that closes idle connections loses no request'
load http-close --protocol http --url $url/page --requests 100 --rate 200 --close
load http-chunked --protocol http --url $url/chunked --requests 100 --rate 200
load http-until-close --protocol http --url $url/until-close --requests 100 --rate 200
exits 1 'http: answers of status 404 are failures' "$BUILD/parties-load" --protocol http --url $url/missing \
	--requests 10 --rate 100
tap_is "$(field errors "$scratch/stdout")" 10 'http: which are counted'
kill -TERM $http
wait $http
disown_pid $http
tap_is "$(cat "$scratch/http.count")" 510 'http: the server was asked 510 times'

# --- failures and usage
nobody='--to 127.0.0.1:20529 --requests 5 --rate 100'
exits 1 'nobody listens: exit 1' "$BUILD/parties-load" --protocol truth $nobody
tap_is "$(field errors "$scratch/stdout")" 5 'nobody listens: every request is an error'
exits 1 'nobody listens: --connect-first fails at once' "$BUILD/parties-load" --protocol truth $nobody --connect-first
exits 1 'nobody listens: gRPC the same' "$BUILD/parties-load" --protocol grpc --close $nobody
for bad in '' '--protocol smtp' '--protocol truth --to 127.0.0.1:1' \
	'--protocol http --to 127.0.0.1:1 --rate 1 --for 1s' \
	'--protocol truth --to 127.0.0.1 --rate 1 --for 1s' '--protocol truth --to 127.0.0.1:1 --rate 1' \
	'--protocol truth --to 127.0.0.1:1 --rate 1 --for 1' '--protocol truth --to 127.0.0.1:1 --calibrate' \
	'--protocol truth --to 127.0.0.1:1 --max 1 --profile ramp' \
	'--protocol truth --to 127.0.0.1:1 --rate 1 --for 1s --service-us 5..1' \
	'--protocol truth --to 127.0.0.1:1 --rate 1 --for 1s --close --connect-first' \
	'--protocol truth --to 127.0.0.1:1 --rate 1 --for 1s extra'; do
	exits 2 "usage: parties-load $bad" "$BUILD/parties-load" $bad
done
for program in parties-load truth-server hotel-search be-job; do
	exits 0 "$program --help" "$BUILD/$program" --help
	head -n 1 "$scratch/stdout" | grep -q "^usage: $program"
	tap_ok $? "$program --help explains itself on stdout"
	exits 2 "$program --nonsense" "$BUILD/$program" --nonsense
done

# --- best-effort work
"$BUILD/be-job" --threads 2 --out "$scratch/units" >"$scratch/be.out" &
job=$!
own $job
sleep 1.3
[ "$(cat "$scratch/units")" -gt 0 ]
tap_ok $? "be-job: counts while it works ($(cat "$scratch/units"))"
kill -TERM $job
wait $job
tap_is $? 0 'be-job: ends well'
disown_pid $job
tap_is "$(cat "$scratch/be.out")" "$(sed 's/^0*//' "$scratch/units")" 'be-job: prints what the file says'
tap_done
