// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - truth-server: a server that knows how long each request really took, for tests of an outside observer.
 * Glue: options, signals, the summary.  It does no work for a request but take the time it asks for.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "experiments/common/clock.h"
#include "experiments/common/latency_log.h"
#include "experiments/common/number.h"

static struct {
	pthread_mutex_t lock;
	struct latency_log log;
} truth = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char usage[] =
	"usage: truth-server --port PORT [options]\n"
	"A request is one line of 15 digits, the microseconds to take; the answer is the same line.\n"
	"Prints `ready` when it listens on 127.0.0.1 and ends on SIGTERM or SIGINT.\n"
	"\n"
	"  --port PORT      TCP port to listen on\n"
	"  --model MODEL    blocking (a thread per connection, default) or epoll (one loop)\n"
	"  --spin           burn CPU for the service time instead of sleeping\n"
	"  --pieces         read the request with two reads of 8 bytes\n"
	"  --gap DUR        write the answer with two writes of 8 bytes, DUR apart\n"
	"  --out FILE       at the end write a JSON summary of the true times (first read to last write)\n"
	"  --list FILE      at the end write every true time, in ns, one per line\n"
	"  --until-eof      end when standard input ends, too\n"
	"  --help           this text\n";

struct options {
	struct truth_settings settings;
	uint16_t port;
	bool epoll, until_eof;
	const char *out, *list;
};

int truth_parse(const char message[TRUTH_MESSAGE_SIZE], uint64_t *ret_ns)
{
	char text[TRUTH_MESSAGE_SIZE];
	uint64_t us;

	if (message[TRUTH_MESSAGE_SIZE - 1] != '\n')
		return -EPROTO;
	memcpy(text, message, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (number_parse(text, 0, 3600 * 1000000ULL, &us))
		return -EPROTO;
	*ret_ns = us * NS_PER_US;
	return 0;
}

void truth_log(uint64_t ns)
{
	int err;

	pthread_mutex_lock(&truth.lock);
	err = latency_log_add(&truth.log, ns);
	pthread_mutex_unlock(&truth.lock);
	if (err) {
		fprintf(stderr, "truth-server: out of memory, the truth would be incomplete\n");
		exit(1);
	}
}

void truth_wait_until(const struct truth_settings *settings, uint64_t ns)
{
	if (!settings->spin)
		clock_sleep_until(ns);
	while (clock_now_ns() < ns)
		;
}

/* Returns 0 to go on, or the exit code + 1. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "port", required_argument, NULL, 'p' },  { "model", required_argument, NULL, 'm' },
		{ "spin", no_argument, NULL, 's' },	   { "pieces", no_argument, NULL, 'i' },
		{ "gap", required_argument, NULL, 'g' },   { "out", required_argument, NULL, 'o' },
		{ "list", required_argument, NULL, 'l' },  { "until-eof", no_argument, NULL, 'e' },
		{ "help", no_argument, NULL, 'h' },	   { 0 },
	};
	uint64_t number;
	int c, bad = 0;

	while (!bad && (c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			bad = number_parse(optarg, 1, 65535, &number);
			o->port = bad ? 0 : (uint16_t)number;
			break;
		case 'm':
			o->epoll = !strcmp(optarg, "epoll");
			bad = !o->epoll && strcmp(optarg, "blocking");
			break;
		case 's':
			o->settings.spin = true;
			break;
		case 'i':
			o->settings.pieces = true;
			break;
		case 'g':
			bad = number_parse_duration(optarg, &o->settings.gap_ns);
			break;
		case 'o':
			o->out = optarg;
			break;
		case 'l':
			o->list = optarg;
			break;
		case 'e':
			o->until_eof = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			bad = 1;
		}
	}
	if (bad || !o->port || optind < argc) {
		fprintf(stderr, "truth-server: bad or missing option; --port PORT is needed\n%s", usage);
		return 3;
	}
	return 0;
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Inherited by accepted sockets: the two pieces of an answer must not wait for each other. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, SOMAXCONN)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Lets whoever holds the other end of our standard input end us by dying. */
static void *wait_for_eof(void *arg)
{
	char buf[256];

	while (read(STDIN_FILENO, buf, sizeof(buf)) > 0)
		;
	kill(getpid(), SIGTERM);
	return arg;
}

static void write_summary(FILE *f)
{
	static const struct {
		const char *name;
		uint32_t permille;
	} ranks[] = { { "p50_us", 500 }, { "p95_us", 950 }, { "p99_us", 990 }, { "max_us", 1000 } };
	size_t i;

	fprintf(f, "{\"count\": %zu, \"mean_us\": %.3f", truth.log.nr, latency_log_mean(&truth.log) / 1e3);
	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		fprintf(f, ", \"%s\": %.3f", ranks[i].name,
			(double)latency_log_percentile(&truth.log, ranks[i].permille) / 1e3);
	fputs("}\n", f);
}

static void write_list(FILE *f)
{
	size_t i;

	for (i = 0; i < truth.log.nr; i++)
		fprintf(f, "%llu\n", (unsigned long long)truth.log.values_ns[i]);
}

static int write_file(const char *path, void (*print)(FILE *f))
{
	FILE *f = path ? fopen(path, "w") : NULL;
	int failed;

	if (!path)
		return 0;
	if (f) {
		print(f);
		failed = ferror(f);
		if (!fclose(f) && !failed)
			return 0;
	}
	fprintf(stderr, "truth-server: %s: %s\n", path, strerror(errno));
	return -errno;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	pthread_t thread;
	int err = parse_options(argc, argv, &o);

	if (err)
		return err - 1;
	o.settings.stop_fd = block_signals();
	o.settings.listen_fd = listen_on(o.port);
	if (o.settings.listen_fd < 0) {
		fprintf(stderr, "truth-server: port %u: %s\n", o.port, strerror(-o.settings.listen_fd));
		return 1;
	}
	clock_wake_promptly();
	if (o.until_eof && pthread_create(&thread, NULL, wait_for_eof, NULL))
		return 1;
	puts("ready");
	fflush(stdout);

	err = o.epoll ? epoll_serve(&o.settings) : blocking_serve(&o.settings);
	if (err)
		fprintf(stderr, "truth-server: %s\n", strerror(-err));
	/* Held to the end: connections may still be served. */
	pthread_mutex_lock(&truth.lock);
	if (write_file(o.list, write_list))
		err = -EIO;
	latency_log_sort(&truth.log);
	if (write_file(o.out, write_summary))
		err = -EIO;
	latency_log_free(&truth.log);
	exit(err ? 1 : 0);
}
