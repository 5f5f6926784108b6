#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# waits: yes
# A run that is alive is looked at: status, top, explain, and its web pages.  On a tree, so that no rights are needed.
set -uo pipefail
. tests/lib.sh
. tests/cli/tree.lib

cat >"$scratch/conf" <<'END'
[controller]
policy = parties-paper
interval = 20ms
[service search]
match = cgroup:/search
target = p99 < 25ms
cores = 1..12
[service mail]
match = cgroup:/mail
target = p95 < 60ms
[batch jobs]
match = cgroup:/jobs
END

"$parties" --root "$tree" run -c "$scratch/conf" --for 60s --record "$scratch/record" --web 0 \
	>"$scratch/run.out" 2>"$scratch/run.err" &
run=$!
own $run
for _ in {1..100}; do
	[ "$(wc -l 2>/dev/null <"$scratch/record")" -gt 60 ] 2>/dev/null && break
	sleep 0.1
done
url=$(sed -n 's/^event=web url=//p' "$scratch/run.err")
port=${url##*:}
port=${port%/}

# http METHOD PATH: the answer, from our own side of a socket.
http() {
	exec 3<>"/dev/tcp/127.0.0.1/$port" || return
	printf '%s %s HTTP/1.0\r\n\r\n' "$1" "$2" >&3
	cat <&3
	exec 3>&-
}
body() {
	http GET "$1" | sed '1,/^\r$/d'
}

# --- status and explain ---
"$parties" status --pid $run >"$scratch/out" 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '0 ' 'status answers'
tap_is "$(sed -n "1s/^parties \([0-9]*\) on .*: live, parties-paper, .* s, windows of 0.02 s$/\1/p" "$scratch/out")" $run \
	'its first line says which run this is'
tap_is "$(grep -c '^search .*p99 < 25 ' "$scratch/out") $(grep -c '^mail .*p95 < 60 ' "$scratch/out")" \
	'1 1' 'status shows each service beside its target'
"$parties" status --json --pid $run >"$scratch/json"
python3 - "$scratch/json" $run <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
assert s['pid'] == int(sys.argv[2]) and s['schema_version'] == 1
assert [v['name'] for v in s['tick']['services']] == ['search', 'mail'] and s['header']['record'] == 'parties'
assert s['totals']['ticks'] > 60 and 'own_cpu_pct' not in s['totals']
t = [d['tick']['t_s'] for d in s['decisions']]
assert 0 < len(t) <= 32 and t == sorted(t)
END
tap_ok $? 'status --json has the record'\''s objects and the last decisions'
"$parties" explain search --pid $run -n 3 >"$scratch/out" 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err") $(sed -n '1s/^search has [0-9]* cores\{0,1\} (CPUs .*/yes/p' "$scratch/out")" '0  yes' \
	'explain begins with what the service has'
tap_is "$(grep -c '^ *[0-9.]* s  ' "$scratch/out") $(grep -c '^ *seen: ' "$scratch/out")" '3 3' \
	'and goes on with as many decisions as were asked for'

# --- top ---
"$parties" top --pid $run --interval 100ms --for 800ms >"$scratch/out" 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err") $(($(grep -c "^parties $run " "$scratch/out") > 1))" '0  1' 'top over a pipe shows several pictures'
tap_is "$(grep -c "$(printf '\033')" "$scratch/out") $(grep -c '^$' "$scratch/out")" \
	"0 $((3 * $(grep -c "^parties $run " "$scratch/out")))" 'top over a pipe is a block per picture, without escape codes'
if command -v script >/dev/null; then
	script -qec "stty rows 7 cols 40; NO_COLOR=1 TERM=xterm $parties top --pid $run --interval 100ms --for 200ms" \
		/dev/null </dev/null >"$scratch/out" 2>&1
	tap_is $? 0 'top on a terminal ends well'
	# What is between two jumps home is one picture.
	tr -d '\r' <"$scratch/out" |
		sed 's/\x1b\[[KJ]//g; s/\x1b\[H/\nHOME\n/g; s/\x1b\[?[0-9]*[hl]//g' >"$scratch/pictures"
	tap_is "$(awk '/^HOME$/ { n = 0; next } length($0) > 40 { wide++ } ++n > 7 { high++ }
		END { print wide + 0, high + 0 }' "$scratch/pictures")" '0 0' 'no picture is wider or higher than the terminal'
	tap_is "$(tail -c 14 "$scratch/out" | od -An -c | tr -d ' \n')" '033[?25h033[?1049l' 'it leaves the terminal as it was'
else
	tap_skip 'top on a terminal' 'script is not installed'
fi

# --- pages ---
tap_is "$(http GET / | head -1 | tr -d '\r')" 'HTTP/1.1 200 OK' 'the page is there'
tap_is "$(body / | grep -o "https\?://[^'\"]*")" 'http://www.w3.org/2000/svg' \
	'it needs nothing from elsewhere: the one address is the name of SVG'
body /metrics >"$scratch/metrics"
tap_is "$(tail -1 "$scratch/metrics")" '# EOF' 'the metrics end as OpenMetrics do'
awk '/^# TYPE/ { family = $3; suffix = $4 == "counter" ? "_total" : ""; next }
	/^#/ { next }
	{ name = $1; sub(/[{].*/, "", name) }
	name != family suffix || NF != 2 || $2 !~ /^-?[0-9.e+-]+$/ { print; bad = 1 }
	END { exit bad }' "$scratch/metrics" >"$scratch/out"
tap_ok $? 'every sample stands below its family and is a number'
tap_note "$(cat "$scratch/out")"
tap_is "$(grep -c '^parties_target_seconds{service="search"} 0.025$' "$scratch/metrics")" 1 'units are seconds'
body /course.json >"$scratch/course"
python3 - "$scratch/course" <<'END'
import json, sys
c = json.load(open(sys.argv[1]))
n = len(c['t_s'])
assert 0 < n <= 512 and c['t_s'] == sorted(c['t_s']) and c['t_s'][0] < 1
assert all(len(s[k]) == n for s in c['services'] for k in ('steer_us', 'cores', 'speed'))
END
tap_ok $? 'the course begins where the run did'
tap_is "$(http GET /nothing | head -1 | cut -d' ' -f2) $(http POST /status.json | head -1 | cut -d' ' -f2)" '404 405' \
	'what is not there, and what would change something, is refused'
python3 - "$port" $run "$parties" <<'END'
import socket, subprocess, sys, time
port, pid, parties = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def ticks():
    stat = open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()
    return int(stat[11]) + int(stat[12])
clients = []
for i in range(30): # more than are taken, and fewer than wait to be
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(('127.0.0.1', port))
    clients.append(client)
before = ticks()
time.sleep(0.3)
assert ticks() - before < 10, ticks() - before
subprocess.run([parties, 'status', '--pid', pid], stdout=subprocess.DEVNULL, check=True)
END
tap_ok $? 'clients that say nothing, however many, neither keep it busy nor others away'
exec 4<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /sta' >&4
"$parties" status --pid $run >"$scratch/out"
tap_is "$? $(grep -c '^search ' "$scratch/out")" '0 1' 'a client that stands still keeps nobody waiting'
exec 4>&-

# --- what goes wrong ---
# refuse NAME STATUS PATTERN COMMAND...
refuse() {
	local name=$1 want=$2 pattern=$3 status
	shift 3
	"$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	tap_is "$status $(wc -l <"$scratch/err") $(grep -c -- "$pattern" "$scratch/err")" "$want 1 1" "$name"
	tap_note "$(cat "$scratch/err")"
}
other=$scratch/other
tests/fixtures/machines/make "$other" epyc-7302 cpufreq=none groups=search:101,mail:102,jobs:103
refuse 'a port in use' 3 "--web: 127.0.0.1 port $port: Address already in use; choose another" \
	"$parties" --root "$other" run -c "$scratch/conf" --for 100ms --web "$port"
for address in '' 70000 127.0.0.1 localhost:80 127.0.0.1:80x; do
	refuse "--web '$address'" 2 "--web: '.*' is not a port or ADDRESS:PORT in numbers" \
		"$parties" --root "$other" run -c "$scratch/conf" --for 100ms --web "$address"
done
refuse 'a run that is not there' 1 '1 is no run of parties' "$parties" status --pid 1
refuse 'a service that is not there' 2 "no service 'serch'; there is: search mail" "$parties" explain serch --pid $run
if [ "$(id -u)" -eq 0 ]; then
	refuse 'a run of root, asked by somebody else' 3 'is root.s; ask as root' \
		setpriv --reuid 65534 --clear-groups "$parties" status --pid $run
else
	tap_skip 'a run of root' 'not root'
fi
"$parties" status --pid $run >/dev/full 2>"$scratch/err"
tap_is "$? $(cat "$scratch/err")" '1 parties status: the output cannot be written: No space left on device' \
	'a full disk is told'

"$parties" top --pid $run --interval 100ms >"$scratch/top" 2>"$scratch/err" &
top=$!
own $top
sleep 0.3
kill -TERM $run
wait $run
tap_is $? 0 'the run ends well'
disown_pid $run
wait $top
tap_is "$? $(tail -1 "$scratch/top") $(cat "$scratch/err")" "0 run $run is over " 'top ends with it'
disown_pid $top

# --- records ---
"$parties" explain search -r "$scratch/record" -n 2 >"$scratch/out"
tap_is "$? $(grep -c '^ *seen: ' "$scratch/out")" '0 2' 'a record is explained, too'
head -c "$(($(head -30 "$scratch/record" | wc -c) - 20))" "$scratch/record" >"$scratch/cut"
tap_try 'and one that a killed run has left' "$parties" explain search -r "$scratch/cut"
sed '1s/"schema_version":1/"schema_version":2/' "$scratch/record" >"$scratch/newer"
refuse 'a record of another version' 2 "newer:1: written by another version" "$parties" explain search -r "$scratch/newer"
: >"$scratch/empty"
refuse 'an empty record' 2 'empty:0: empty' "$parties" explain search -r "$scratch/empty"
head -c 3000 "$parties" >"$scratch/binary"
refuse 'a binary file' 2 'binary:1: not a record: ' "$parties" explain search -r "$scratch/binary"
sed 5q "$scratch/record" | sed '3s/.*/[]x/' >"$scratch/broken"
refuse 'a line that is no JSON' 2 'broken:3: ' "$parties" explain search -r "$scratch/broken"
refuse 'no file' 2 'none: No such file' "$parties" explain search -r "$scratch/none"
tap_done
