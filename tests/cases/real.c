// SPDX-License-Identifier: GPL-2.0
/*
 * real.c - hard cases as real servers have them: nginx, memcached, redis, node, gRPC's own library.  Each skips where
 * the server is not installed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

static bool installed(const char *name)
{
	char path[512];
	const char *dirs = getenv("PATH");

	for (dirs = dirs ? dirs : "/usr/bin:/usr/sbin"; *dirs; dirs += strcspn(dirs, ":"), dirs += *dirs == ':') {
		snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(dirs, ":"), dirs, name);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

static pid_t start(const char *const *argv)
{
	pid_t pid;

	if (!strchr(argv[0], '/') && !installed(argv[0]))
		rig_skip("%s is not installed", argv[0]);
	pid = rig_spawn(argv, -1);
	if (!net_wait(pid))
		rig_skip("%s does not start here", argv[0]);
	return pid;
}

/* A free port, as text that stays. */
static const char *free_port(void)
{
	static char text[8];

	snprintf(text, sizeof(text), "%u", net_free_port());
	return text;
}

/* Runs a client to its end. */
static void run_client(const char *const *argv, int out)
{
	int status;

	if (!strchr(argv[0], '/') && !installed(argv[0]))
		rig_skip("%s is not installed", argv[0]);
	waitpid(rig_spawn(argv, out), &status, 0);
	if (status)
		rig_broken("%s ended with status %d", argv[0], status);
}

static void observe_and_judge(const struct rig_case *c, pid_t server)
{
	rig_watch(server, 0, 0);
	c->client();
	rig_stop();
	rig_judge(c);
}

/* ---- HTTP/1 ------------------------------------------------------------------------------------------------------ */

/* Asks for a path and takes the answer by its length. */
static void http_ask(int fd, const char *path)
{
	static char body[1 << 20];
	char request[128], head[2048];
	uint64_t start = rig_clock_us();
	size_t used = 0;
	const char *length;

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
	net_write(fd, request, strlen(request));
	do {
		if (used == sizeof(head) - 1 || !net_read(fd, head + used, 1))
			rig_broken("the client got no answer");
		head[++used] = '\0';
	} while (!strstr(head, "\r\n\r\n"));
	length = strcasestr(head, "\r\nContent-Length:");
	if (!length || !net_read(fd, body, strtoul(length + strlen("\r\nContent-Length:"), NULL, 10)))
		rig_broken("the client got no body: %.40s", head);
	rig_saw(RIG_SEEN, rig_clock_us() - start);
}

static void http_client(const char *path, int nr)
{
	int fd = net_connect();

	for (int i = 0; i < nr; i++)
		http_ask(fd, path);
	close(fd);
}

static pid_t start_nginx(void)
{
	const char *dir = rig_scratch(), *port = free_port();
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/page", dir);
	file = fopen(path, "w");
	for (int i = 0; i < 300000; i++)
		fputc('x', file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/conf", dir);
	file = fopen(path, "w");
	/* One process, so that it ends with the case. */
	fprintf(file,
		"daemon off; master_process off; pid %s/pid; error_log stderr; events {} http { access_log off; sendfile on;\n",
		dir);
	for (const char *const *kind =
		     (const char *const[]) { "client_body", "proxy", "fastcgi", "uwsgi", "scgi", NULL };
	     *kind; kind++)
		fprintf(file, "%s_temp_path %s/%s;\n", *kind, dir, *kind);
	fprintf(file,
		"server { listen 127.0.0.1:%s; root %s; location /behind { proxy_pass http://unix:%s/socket; } } }\n",
		port, dir, dir);
	fclose(file);
	return start((const char *const[]){ "nginx", "-e", "stderr", "-p", dir, "-c", path, NULL });
}

static void client_page(void)
{
	http_client("/page", 50);
}

static void client_page_once(void)
{
	for (int i = 0; i < 20; i++)
		http_client("/page", 1);
}

static void client_behind(void)
{
	http_client("/behind", 20);
}

static void run_nginx(const struct rig_case *c)
{
	observe_and_judge(c, start_nginx());
}

/* ---- nginx before a server on AF_UNIX ---------------------------------------------------------------------------- */

static void serve_http_3ms(int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	char head[2048];
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(head) - 1 && (n = read(fd, head + used, sizeof(head) - 1 - used)) > 0) {
		used += (size_t)n;
		head[used] = '\0';
		if (!strstr(head, "\r\n\r\n"))
			continue;
		rig_sleep_us(3000);
		net_write(fd, answer, strlen(answer));
		used = 0;
	}
}

static pid_t start_behind(const struct rig_case *c)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", rig_scratch());
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 128))
		rig_broken("%s: %s", address.sun_path, strerror(errno));
	return rig_serve(fd, c);
}

static void run_behind_nginx(const struct rig_case *c)
{
	pid_t server = start_behind(c);

	start_nginx();
	observe_and_judge(c, server);
}

static void run_nginx_before(const struct rig_case *c)
{
	start_behind(c);
	observe_and_judge(c, start_nginx());
}

/* ---- memcached, redis -------------------------------------------------------------------------------------------- */

static void run_memcached(const struct rig_case *c)
{
	const char *port = free_port();

	observe_and_judge(c, start((const char *const[]) { "memcached", "-u", "root", "-l", "127.0.0.1", "-p", port,
							   "-U", "0", NULL }));
}

static void client_gets(void)
{
	int fd = net_connect();

	for (int i = 0; i < 200; i++)
		net_ask_with(fd, "get nothing\r\n", 13, 5);
	close(fd);
}

static void run_redis(const struct rig_case *c)
{
	const char *port = free_port();

	observe_and_judge(
		c, start((const char *const[]) { "redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "",
						 "--dir", rig_scratch(), "--enable-debug-command", "yes", NULL }));
}

/* Five commands of 4 ms in a write; redis answers when it has done all of them. */
static void client_redis(void)
{
	static const char command[] = "*3\r\n$5\r\nDEBUG\r\n$5\r\nSLEEP\r\n$5\r\n0.004\r\n", answer[] = "+OK\r\n";
	char out[5 * sizeof(command)] = "", in[sizeof(answer)];
	int fd = net_connect();

	for (int i = 0; i < 5; i++)
		strcat(out, command);
	for (int k = 0; k < 10; k++) {
		uint64_t since = rig_clock_us();

		net_write(fd, out, strlen(out));
		for (int i = 0; i < 5; i++) {
			if (!net_read(fd, in, strlen(answer)) || in[0] != '+')
				rig_broken("redis does not answer +OK");
			rig_saw(RIG_SEEN, rig_clock_us() - since);
		}
	}
	close(fd);
}

/* ---- node -------------------------------------------------------------------------------------------------------- */

static void run_node(const struct rig_case *c)
{
	observe_and_judge(c, start((const char *const[]){ "node", "-e", c->variant, free_port(), NULL }));
}

#define NODE_HTTP1 \
	"require('http').createServer((q, r) => setTimeout(() => r.end('ok'), 5)).listen(process.argv[1], '127.0.0.1')"
#define NODE_HTTP2 \
	"require('http2').createServer().on('stream', s => setTimeout(() => { s.respond({':status': 200}); s.end('ok') }, 20))" \
	".listen(process.argv[1], '127.0.0.1')"

static void client_node(void)
{
	http_client("/", 20);
}

/* Its log has a line per request: start, status, duration. */
static void client_h2load(void)
{
	char log[256], url[64];
	long start_us, status, us;
	FILE *file;

	snprintf(log, sizeof(log), "--log-file=%s/log", rig_scratch());
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", net_port());
	run_client((const char *const[]){ "h2load", "-n", "100", "-c", "1", "-m", "100", log, url, NULL }, -1);
	file = fopen(strchr(log, '=') + 1, "r");
	while (file && fscanf(file, "%ld %ld %ld", &start_us, &status, &us) == 3)
		rig_saw(RIG_SEEN, (uint64_t)us);
}

/* ---- gRPC's library ---------------------------------------------------------------------------------------------- */

static void run_grpc(const struct rig_case *c)
{
	observe_and_judge(c, start((const char *const[]){ rig_program("hotel-search"), "--port", free_port(), NULL }));
}

/* 200 unary calls over four connections, several at a time. */
static void client_grpc(void)
{
	char to[64], line[1024];
	json_t *summary = NULL;
	int out[2];
	FILE *lines;

	if (pipe(out))
		rig_broken("pipe: %s", strerror(errno));
	snprintf(to, sizeof(to), "127.0.0.1:%u", net_port());
	run_client((const char *const[]) { rig_program("parties-load"), "--protocol", "grpc", "--to", to,
					   "--connections", "4", "--rate", "400", "--requests", "200", NULL },
		   out[1]);
	close(out[1]);
	lines = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), lines))
		if (strstr(line, "\"summary\""))
			summary = json_loads(line, 0, NULL);
	for (int i = 0; i < 98; i++)
		rig_saw(RIG_SEEN, (uint64_t)rig_number(summary, "p50_us"));
	for (int i = 0; i < 2; i++)
		rig_saw(RIG_SEEN, (uint64_t)rig_number(summary, "p99_us"));
}

static const struct rig_case cases[] = {
	{ "21b", "nginx, static file by sendfile, keep-alive", .run = run_nginx, .client = client_page,
	  .expect = { .nr = 50 } },
	{ "21c", "nginx, static file, a connection per request", .run = run_nginx, .client = client_page_once,
	  .expect = { .nr = 20 } },
	{ "29c", "nginx in front of another server", .serve = serve_http_3ms, .run = run_nginx_before,
	  .client = client_behind, .expect = { .nr = 20, .us = 3000 } },
	{ "36e", "AF_UNIX listener behind nginx", .serve = serve_http_3ms, .run = run_behind_nginx,
	  .client = client_behind, .expect = { .nr = 20, .us = 3000 } },
	{ "8l", "memcached, one get at a time", .run = run_memcached, .client = client_gets, .expect = { .nr = 200 } },
	{ "8m", "redis, five commands in a read", .run = run_redis, .client = client_redis,
	  .expect = { .nr = 50, .us = 20000 } },
	/* Node's timers may be a millisecond early. */
	{ "8n", "node, HTTP/1", .run = run_node, .client = client_node, .variant = NODE_HTTP1,
	  .expect = { .nr = 20, .us = 4000 } },
	{ "25e", "node, HTTP/2, 100 streams at once", .run = run_node, .client = client_h2load, .variant = NODE_HTTP2,
	  .expect = { .nr = 100, .us = 19000, .may_declare = "multiplexed" } },
	{ "25f", "gRPC's library, unary calls, several at once", .run = run_grpc, .client = client_grpc,
	  .lifecycle = "grpc", .expect = { .nr = 200 } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
