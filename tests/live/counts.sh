#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# timeout: 120
# The kernel's count of requests equals the client's: memcached on connections that stay open, nginx with one connection
# per request.
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

if command -v memcached >/dev/null; then
	memcached -u nobody -l 127.0.0.1 -p 21220 -t 2 -m 64 &
	own $!
	wait_for_port 21220
	counts memcached 21220 50000 --protocol memcached --to 127.0.0.1:21220 --connections 16 --rate 10000
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
