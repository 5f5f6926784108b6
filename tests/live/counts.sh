#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 120
# waits: yes
# The kernel's count of requests equals the client's: memcached on connections that stay open, nginx with one connection
# per request; and a controller that hears both counts the same twice.
set -uo pipefail
. tests/lib.sh
. tests/live/observe.lib

[ "$(id -u)" -eq 0 ] || tap_skip_all 'only root may load BPF programs'
scratch

# counts NAME PORT N ARG...: N requests by the client, as many by the observer.
counts() {
	local name=$1 port=$2 requests=$3
	shift 3
	watch "$port" "$name"
	load "$name" --requests "$requests" "$@"
	watched "$name"
	tap_is "$(field completed "$scratch/$name.load")" "$requests" "$name: the client completed $requests requests"
	tap_is "$(field requests "$scratch/$name.observe")" "$requests" "$name: the kernel counted $requests requests"
	tap_note "$(tail -n 1 "$scratch/$name.observe")"
}

# sum KEY: of a record's windows.
sum() {
	grep -o "\"$1\":[0-9]*" "$scratch/both.record" | awk -F: '{ sum += $2 } END { print sum + 0 }'
}

# A client that reports, beside the kernel that sees its requests; it ends, somebody writes garbage, and another client
# begins.  The load ends well before the controller.
reported() {
	local name=$1 requests=$2 want=$(($2 + 1000)) runner tries
	shift 2
	cat >"$scratch/both.conf" <<-END
		[controller]
		policy   = static
		interval = 250ms
		feedback = both
		[service memcached]
		match    = port:21220
		target   = p99 < 5ms
		client   = $scratch/reports
	END
	"$BUILD/parties" run -c "$scratch/both.conf" --mode observe --record "$scratch/both.record" --quiet \
		>"$scratch/both.out" 2>"$scratch/both.err" &
	runner=$!
	own $runner
	for ((tries = 0; tries < 100; tries++)); do
		! grep -q event=start "$scratch/both.err" || break
		sleep 0.1
	done
	load "$name" --requests "$requests" --report "$scratch/reports" "$@"
	sleep 0.8
	echo oops >>"$scratch/reports"
	load "$name-again" --requests 1000 --report "$scratch/reports" "$@"
	sleep 0.8
	end $runner
	tap_is "$(sum completed) in the kernel, $(sum other_completed) reported" "$want in the kernel, $want reported" \
		"$name: the controller counted every request twice, as the kernel saw it and as the client reported it"
	awk -v client="$(mean other_p50_us)" -v kernel="$(mean p50_us)" 'BEGIN { exit !(kernel > 0 && client >= kernel) }'
	tap_ok $? "$name: what the client reports is no less than what the kernel saw"
	tap_note "mean p50 of windows: kernel $(mean p50_us) us, client $(mean other_p50_us) us"
	grep -q "event=reports service=memcached taken=[1-9][0-9]* ignored=1 late=0" "$scratch/both.err"
	tap_ok $? "$name: every report was understood, and the line that is none counted"
	grep -q "event=report-ignored service=memcached place=\"$scratch/reports:[1-9][0-9]*\" reason=\"not JSON\"" "$scratch/both.err"
	tap_ok $? "$name: and named with its place"
	tap_is "$(grep -o 'event=reports-[a-z]*' "$scratch/both.err" | tail -n 3 | xargs)" \
		'event=reports-missing event=reports-come event=reports-missing' \
		"$name: a client that ends is missed, one that begins is heard"
	tail -n 2 "$scratch/both.record" | grep -q '"other_completed":null,"other_p50_us":null'
	tap_ok $? "$name: what a client said last is not said again"
}

mean() {
	grep -o "\"$1\":[0-9.]*" "$scratch/both.record" | awk -F: '{ sum += $2 } END { printf "%.1f\n", NR ? sum / NR : 0 }'
}

if command -v memcached >/dev/null; then
	memcached -u nobody -l 127.0.0.1 -p 21220 -t 2 -m 64 &
	own $!
	wait_for_port 21220
	counts memcached 21220 50000 --protocol memcached --to 127.0.0.1:21220 --connections 16 --rate 10000
	reported memcached-reported 20000 --protocol memcached --to 127.0.0.1:21220 --connections 16 --rate 10000
else
	tap_skip memcached 'memcached is not installed'
fi

if command -v nginx >/dev/null; then
	mkdir "$scratch/nginx"
	head -c 20000 /dev/zero | tr '\0' x >"$scratch/nginx/page"
	cat >"$scratch/nginx.conf" <<-END
		daemon off;
		pid $scratch/nginx.pid;
		user root;
		worker_processes 2;
		events { worker_connections 256; }
		http {
			access_log off;
			client_body_temp_path $scratch/body;
			proxy_temp_path $scratch/proxy;
			fastcgi_temp_path $scratch/fastcgi;
			uwsgi_temp_path $scratch/uwsgi;
			scgi_temp_path $scratch/scgi;
			sendfile on;
			server { listen 127.0.0.1:21221; root $scratch/nginx; }
		}
	END
	nginx -e stderr -p "$scratch" -c "$scratch/nginx.conf" 2>"$scratch/nginx.errors" &
	own $!
	wait_for_port 21221
	counts nginx 21221 5000 --protocol http --url http://127.0.0.1:21221/page --close --rate 1000
	counts nginx-keep-alive 21221 5000 --protocol http --url http://127.0.0.1:21221/page --connections 8 --rate 1000
else
	tap_skip nginx 'nginx is not installed'
fi
tap_done
