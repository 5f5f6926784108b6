// SPDX-License-Identifier: GPL-2.0
/*
 * test_payload.c - no byte of a request or an answer comes back from the kernel programs: what is in their maps after
 * traffic, and what their code could hand over.
 * waits: yes
 */
#include "bpf/frames.h"
#include "bpf/grpc_server.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "metrics/handle.h"

/* Any six bytes in a row of what was sent are a leak: by chance they are nowhere. */
enum { MARKER = 16, PIECE = 6, NR_FDS = 64 };
static uint8_t markers[2][MARKER]; /* in requests, in answers */
static int fds[NR_FDS];            /* of all sockets of the traffic, which stay open */
static unsigned int nr_fds, nr_maps, nr_values, nr_programs;

static bool has_piece(const void *data, size_t size)
{
	for (int m = 0; m < 2; m++)
		for (size_t at = 0; at + PIECE <= MARKER; at++)
			if (memmem(data, size, markers[m] + at, PIECE))
				return true;
	return false;
}

/* ---- what is in the maps ----------------------------------------------------------------------------------------- */

static size_t value_size(const struct bpf_map *map)
{
	size_t size = bpf_map__value_size(map);
	enum bpf_map_type type = bpf_map__type(map);

	if (type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
		size = (size + 7) / 8 * 8 * (size_t)libbpf_num_possible_cpus();
	return size;
}

static bool value_has_piece(const struct bpf_map *map, const void *key)
{
	uint8_t *value = malloc(value_size(map));
	bool found = false;

	if (!bpf_map_lookup_elem(bpf_map__fd(map), key, value)) {
		nr_values++;
		found = has_piece(value, value_size(map));
	}
	free(value);
	return found;
}

static bool hash_has_piece(const struct bpf_map *map)
{
	uint8_t keys[2][256];
	bool found = false;
	void *at = NULL;

	assert_in_range(bpf_map__key_size(map), 1, sizeof(keys[0]));
	for (int i = 0; !found && !bpf_map_get_next_key(bpf_map__fd(map), at, keys[i]); i = !i) {
		at = keys[i];
		found = has_piece(at, bpf_map__key_size(map)) || value_has_piece(map, at);
	}
	return found;
}

static bool array_has_piece(const struct bpf_map *map)
{
	bool found = false;

	for (uint32_t i = 0; !found && i < bpf_map__max_entries(map); i++)
		found = value_has_piece(map, &i);
	return found;
}

/* Storage of a socket or a task can be looked up by who has its descriptor and the map's. */
static bool sockets_have_piece(const struct bpf_map *map)
{
	bool found = false;

	for (unsigned int i = 0; !found && i < nr_fds; i++)
		found = value_has_piece(map, &fds[i]);
	return found;
}

static bool task_has_piece(const struct bpf_map *map)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	bool found = value_has_piece(map, &fd);

	close(fd);
	return found;
}

/* The ring's pages, records that were taken included. */
static bool ring_has_piece(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page + bpf_map__max_entries(map);
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(map), (off_t)page);
	bool found;

	assert_true(data != MAP_FAILED);
	found = has_piece(data, size);
	munmap(data, size);
	nr_values++;
	return found;
}

static bool map_has_piece(const struct bpf_map *map)
{
	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_ARRAY:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return array_has_piece(map);
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		return hash_has_piece(map);
	case BPF_MAP_TYPE_SK_STORAGE:
		return sockets_have_piece(map);
	case BPF_MAP_TYPE_TASK_STORAGE:
		return task_has_piece(map);
	case BPF_MAP_TYPE_RINGBUF:
		return ring_has_piece(map);
	default:
		fail_msg("map %s: this test does not know how to look into its type", bpf_map__name(map));
		return true;
	}
}

static void look_into_maps(const struct bpf_object *object, void *ctx)
{
	struct bpf_map *map;

	(void)ctx;
	bpf_object__for_each_map(map, object) {
		if (bpf_map__fd(map) < 0)
			continue; /* not wanted, not created */
		nr_maps++;
		if (map_has_piece(map))
			fail_msg("map %s has bytes of the traffic", bpf_map__name(map));
	}
}

/* ---- what the code could hand over ------------------------------------------------------------------------------- */

/* Helpers that give bytes to user space.  bpf_ringbuf_output is the one in use, for records of numbers. */
static const struct { int id; const char *name; } outlets[] = {
	{ BPF_FUNC_trace_printk, "trace_printk" }, { BPF_FUNC_trace_vprintk, "trace_vprintk" },
	{ BPF_FUNC_perf_event_output, "perf_event_output" }, { BPF_FUNC_skb_output, "skb_output" },
	{ BPF_FUNC_xdp_output, "xdp_output" }, { BPF_FUNC_probe_write_user, "probe_write_user" },
	{ BPF_FUNC_copy_from_user, "copy_from_user" }, { BPF_FUNC_seq_printf, "seq_printf" },
	{ BPF_FUNC_seq_write, "seq_write" }, { BPF_FUNC_seq_printf_btf, "seq_printf_btf" },
	{ BPF_FUNC_ringbuf_reserve, "ringbuf_reserve" },
};

static void look_at_calls(const struct bpf_object *object, void *ctx)
{
	struct bpf_program *program;

	(void)ctx;
	bpf_object__for_each_program(program, object) {
		const struct bpf_insn *insns = bpf_program__insns(program);

		nr_programs++;
		for (size_t i = 0; i < bpf_program__insn_cnt(program); i++)
			for (size_t k = 0; k < sizeof(outlets) / sizeof(outlets[0]); k++)
				if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg && insns[i].imm == outlets[k].id)
					fail_msg("%s calls %s", bpf_program__name(program), outlets[k].name);
	}
}

/* ---- traffic ----------------------------------------------------------------------------------------------------- */

static int keep(int fd)
{
	assert_in_range(fd, 0, 1 << 20);
	assert_true(nr_fds < NR_FDS);
	return fds[nr_fds++] = fd;
}

/* A request and its answer over a connection, client and server in this process. */
static void talk(int client, int server, const void *request, size_t request_size, const void *answer,
		 size_t answer_size)
{
	char buf[512];

	assert_true(request_size <= sizeof(buf) && answer_size <= sizeof(buf));
	assert_true(write_all(client, request, request_size) && read_all(server, buf, request_size));
	begin(streams);
	half_close(streams);
	assert_true(write_all(server, answer, answer_size));
	end(streams, &status_ok);
	assert_true(read_all(client, buf, answer_size));
}

/* What begins as a protocol that may be recognised, and then has the marker. */
static void talk_as(int client, int server, const char *request, const char *answer)
{
	char texts[2][128];
	size_t sizes[2];

	for (int m = 0; m < 2; m++) {
		const char *text = m ? answer : request;

		memcpy(texts[m], text, strlen(text));
		memcpy(texts[m] + strlen(text), markers[m], MARKER);
		memcpy(texts[m] + strlen(text) + MARKER, "\r\n\r\n", 4);
		sizes[m] = strlen(text) + MARKER + 4;
	}
	for (int i = 0; i < 3; i++)
		talk(client, server, texts[0], sizes[0], texts[1], sizes[1]);
}

static void talk_http2(int client, int server)
{
	uint8_t texts[2][256], *ends[2];

	for (uint32_t stream = 1; stream < 7; stream += 2) {
		ends[0] = stream == 1 ? h2_put_greeting(texts[0]) : texts[0];
		ends[0] = h2_put(h2_put_request(ends[0], stream, true), F_DATA, END_STREAM, stream, markers[0], MARKER);
		ends[1] = stream == 1 ? h2_put(texts[1], F_SETTINGS, 0, 0, NULL, 0) : texts[1];
		ends[1] = h2_put(ends[1], F_HEADERS, END_HEADERS, stream, h2_status_200, sizeof(h2_status_200));
		ends[1] = h2_put(ends[1], F_DATA, END_STREAM, stream, markers[1], MARKER);
		talk(client, server, texts[0], (size_t)(ends[0] - texts[0]), texts[1], (size_t)(ends[1] - texts[1]));
	}
}

static void traffic(void)
{
	static const struct { const char *request, *answer; } protocols[] = {
		{ "", "" }, { "GET /", "HTTP/1.1 200 " }, { "get ", "VALUE " }, { "*1\r\n$16\r\n", "$16\r\n" },
		{ "\x17\x03\x03\x00\x14", "\x17\x03\x03\x00\x14" },
	};
	char name[32];
	uint16_t port;
	int listener = keep(listen_any(&port)), local, client;

	snprintf(name, sizeof(name), "payload-%d", getpid());
	local = keep(unix_socket(name, true));
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		client = keep(connect_to(port));
		talk_as(client, keep(accept(listener, NULL, NULL)), protocols[i].request, protocols[i].answer);
		client = keep(unix_socket(name, false));
		talk_as(client, keep(accept(local, NULL, NULL)), protocols[i].request, protocols[i].answer);
	}
	client = keep(connect_to(port));
	talk_http2(client, keep(accept(listener, NULL, NULL)));
	/* Bytes that nobody reads stay in the kernel, too. */
	assert_true(write_all(client, markers[0], MARKER));
}

static void inspect(enum ebee_lifecycle lifecycle)
{
	const struct ebee_opts opts = {
		.sz = sizeof(opts), .ring_size = EBEE_RING_SIZE, .settle_ns = 1, .trace_lifecycle = lifecycle,
	};
	uint64_t ns;
	int err;

	open_handle_with(&opts);
	NEEDS_BPF();
	err = ebee_start_tracing(ebee, getpid());
	if (err == -ENOTSUP) {
		print_message("# %s\n", ebee_error(ebee));
		close_handle(NULL);
		skip();
	}
	assert_int_equal(err, 0);
	nr_fds = nr_maps = nr_values = nr_programs = 0;
	assert_int_equal(getrandom(markers, sizeof(markers), 0), sizeof(markers));
	traffic();
	sleep_us(250000); /* two looks of the library's thread: the last requests are over and in the ring */
	assert_int_equal(ebee_get_latency_percentile(ebee, getpid(), 50, &ns), 0);
	look_into_maps(ebee->skel->obj, NULL);
	lifecycle_each_object(ebee, look_into_maps, NULL);
	look_at_calls(ebee->skel->obj, NULL);
	lifecycle_each_object(ebee, look_at_calls, NULL);
	assert_true(nr_maps >= 8 && nr_values > nr_maps && nr_programs >= 10);
	while (nr_fds)
		close(fds[--nr_fds]);
	close_handle(NULL);
}

static void exchanges_leave_no_byte(void **state)
{
	(void)state;
	inspect(EBEE_EXCHANGE);
}

static void reads_and_sends_leave_no_byte(void **state)
{
	(void)state;
	inspect(EBEE_READ_SEND);
}

static void calls_of_a_library_leave_no_byte(void **state)
{
	(void)state;
	inspect(EBEE_GRPC);
}

static void frames_leave_no_byte(void **state)
{
	(void)state;
	inspect(EBEE_HTTP2);
}

/* The search itself: six bytes in the middle of a value. */
static void a_byte_that_was_left_would_be_found(void **state)
{
	uint8_t value[64] = { 0 };
	struct bpf_map *map;

	(void)state;
	open_handle_with(NULL);
	NEEDS_BPF();
	assert_int_equal(getrandom(markers, sizeof(markers), 0), sizeof(markers));
	map = ebee->skel->maps.processes;
	assert_int_equal(bpf_map__value_size(map), 4);
	assert_false(map_has_piece(map));
	memcpy(value + 17, markers[1] + 4, PIECE);
	assert_true(has_piece(value, sizeof(value)));
	memcpy(ebee->skel->bss->swept, value, sizeof(value));
	assert_true(map_has_piece(ebee->skel->maps.bss));
	close_handle(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_byte_that_was_left_would_be_found),
		cmocka_unit_test(exchanges_leave_no_byte),
		cmocka_unit_test(reads_and_sends_leave_no_byte),
		cmocka_unit_test(calls_of_a_library_leave_no_byte),
		cmocka_unit_test(frames_leave_no_byte),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
