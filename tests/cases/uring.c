// SPDX-License-Identifier: GPL-2.0
/*
 * uring.c - hard cases about io_uring: the server makes no socket call at all.  Speaks to the kernel directly, for want
 * of more than a dozen lines' need of a library.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

enum { ENTRIES = 8, GROUP = 1, NR_LENT = 4 };

struct variant {
	unsigned int setup, flags; /* of the ring, of every request */
	uint8_t recv, send;        /* operations */
	bool multishot;            /* accept and receive, with buffers lent to the kernel */
	bool direct;               /* the connection has no descriptor, only a place in the ring's own table */
};

struct ring {
	int fd;
	bool polled;
	unsigned int *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static int ring_open(struct ring *r, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 2000 };
	char *ring;

	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (r->fd < 0)
		return -errno;
	ring = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes) + p.sq_entries * sizeof(int),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQ_RING);
	r->sqes = mmap(NULL, p.sq_entries * sizeof(*r->sqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
		       IORING_OFF_SQES);
	if (ring == MAP_FAILED || (void *)r->sqes == MAP_FAILED)
		return -errno;
	r->polled = flags & IORING_SETUP_SQPOLL;
	r->sq_tail = (unsigned int *)(ring + p.sq_off.tail);
	r->sq_mask = (unsigned int *)(ring + p.sq_off.ring_mask);
	r->sq_array = (unsigned int *)(ring + p.sq_off.array);
	r->sq_flags = (unsigned int *)(ring + p.sq_off.flags);
	r->cq_head = (unsigned int *)(ring + p.cq_off.head);
	r->cq_tail = (unsigned int *)(ring + p.cq_off.tail);
	r->cq_mask = (unsigned int *)(ring + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(ring + p.cq_off.cqes);
	return 0;
}

static void ring_submit(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, index = tail & *r->sq_mask;

	r->sqes[index] = *sqe;
	r->sq_array[index] = index;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_SEQ_CST);
	if (!r->polled)
		syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 0);
	else if (__atomic_load_n(r->sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, r->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

struct done {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

static struct done ring_wait(struct ring *r)
{
	const struct io_uring_cqe *cqe;
	struct done done;
	unsigned int head = *r->cq_head;

	while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) == head)
		syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	cqe = &r->cqes[head & *r->cq_mask];
	done = (struct done){ cqe->user_data, cqe->res, cqe->flags };
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return done;
}

/* Result of one request; the notice that a zero-copy buffer is free again is waited for, too. */
static int ring_do(struct ring *r, struct io_uring_sqe sqe)
{
	struct done done;

	ring_submit(r, &sqe);
	done = ring_wait(r);
	if (done.flags & IORING_CQE_F_MORE && sqe.opcode == IORING_OP_SEND_ZC)
		ring_wait(r);
	return done.res;
}

/* A message by whichever operation; sendmsg and recvmsg take it wrapped, readv and writev half wrapped. */
static int transfer(struct ring *r, uint8_t opcode, int fd, char *buf)
{
	const struct variant *v = rig.current->variant;
	struct iovec part = { buf, NET_MESSAGE };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	bool vector = opcode == IORING_OP_READV || opcode == IORING_OP_WRITEV;
	bool wrapped = opcode == IORING_OP_RECVMSG || opcode == IORING_OP_SENDMSG;

	return ring_do(r, (struct io_uring_sqe){
		.opcode = opcode, .fd = fd, .flags = (uint8_t)(v->flags | (v->direct ? IOSQE_FIXED_FILE : 0)),
		.addr = wrapped ? (uintptr_t)&message : vector ? (uintptr_t)&part : (uintptr_t)buf,
		.len = wrapped || vector ? 1 : NET_MESSAGE,
	});
}

static void serve_one_by_one(struct ring *r, int fd)
{
	const struct variant *v = rig.current->variant;
	char buf[NET_MESSAGE];

	while (transfer(r, v->recv, fd, buf) == NET_MESSAGE) {
		rig_sleep_us(3000);
		if (transfer(r, v->send, fd, buf) != NET_MESSAGE)
			break;
	}
}

static void lend_buffers(struct ring *r, char *buf, int nr)
{
	ring_submit(r, &(struct io_uring_sqe){ .opcode = IORING_OP_PROVIDE_BUFFERS, .fd = nr, .addr = (uintptr_t)buf,
					       .len = NET_MESSAGE, .buf_group = GROUP, .user_data = 1 });
}

/* One receive request for the whole connection. */
static void serve_multishot(struct ring *r, int fd)
{
	char lent[NR_LENT * NET_MESSAGE], answer[NET_MESSAGE] = { 0 };

	lend_buffers(r, lent, NR_LENT);
	ring_submit(r, &(struct io_uring_sqe){ .opcode = IORING_OP_RECV, .fd = fd, .ioprio = IORING_RECV_MULTISHOT,
					       .flags = IOSQE_BUFFER_SELECT, .buf_group = GROUP, .user_data = 2 });
	for (;;) {
		struct done done = ring_wait(r);

		if (done.user_data != 2)
			continue;
		if (done.res <= 0)
			return;
		lend_buffers(r, lent, 1);
		rig_sleep_us(3000);
		ring_submit(r, &(struct io_uring_sqe){ .opcode = IORING_OP_SEND, .fd = fd, .addr = (uintptr_t)answer,
						       .len = NET_MESSAGE, .user_data = 3 });
	}
}

static void server(int listener)
{
	const struct variant *v = rig.current->variant;
	struct io_uring_sqe accept_ = { .opcode = IORING_OP_ACCEPT, .fd = listener };
	int empty = -1, fd;
	struct ring r;

	if (ring_open(&r, v->setup))
		_exit(1);
	if (v->direct)
		syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_FILES, &empty, 1);
	accept_.file_index = v->direct ? 1 : 0; /* the first place, from 1 on */
	accept_.ioprio = v->multishot ? IORING_ACCEPT_MULTISHOT : 0;
	fd = ring_do(&r, accept_);
	if (fd >= 0)
		(v->multishot ? serve_multishot : serve_one_by_one)(&r, fd);
	/* The place of a direct connection is freed with the ring. */
	close(r.fd);
	close(fd);
	pause();
}

static int listen_if_uring(void)
{
	struct ring r;
	int err = ring_open(&r, ((const struct variant *)rig.current->variant)->setup);

	if (err)
		rig_skip("io_uring_setup: %s", strerror(-err));
	close(r.fd);
	return net_listen();
}

static void client(void)
{
	net_keep_alive(20);
}

#define URING(...) \
	.listen = listen_if_uring, .server = server, .client = client, \
	.variant = &(const struct variant) { __VA_ARGS__ }, .expect = { .nr = 20, .us = 3000 }

static const struct rig_case cases[] = {
	{ "23-recv", "io_uring recv and send", URING(.recv = IORING_OP_RECV, .send = IORING_OP_SEND) },
	{ "23-read", "io_uring read and write", URING(.recv = IORING_OP_READ, .send = IORING_OP_WRITE) },
	{ "23-readv", "io_uring readv and writev", URING(.recv = IORING_OP_READV, .send = IORING_OP_WRITEV) },
	{ "23-recvmsg", "io_uring recvmsg and sendmsg", URING(.recv = IORING_OP_RECVMSG, .send = IORING_OP_SENDMSG) },
	{ "23-zc", "io_uring recv and send_zc", .only_tcp = true,
	  URING(.recv = IORING_OP_RECV, .send = IORING_OP_SEND_ZC) },
	{ "23-async", "io_uring by its worker threads",
	  URING(.recv = IORING_OP_RECV, .send = IORING_OP_SEND, .flags = IOSQE_ASYNC) },
	{ "23-sqpoll", "io_uring with a polling kernel thread",
	  URING(.recv = IORING_OP_RECV, .send = IORING_OP_SEND, .setup = IORING_SETUP_SQPOLL) },
	{ "23-direct", "io_uring without a descriptor",
	  URING(.recv = IORING_OP_RECV, .send = IORING_OP_SEND, .direct = true) },
	{ "23-multi", "io_uring multishot accept and recv", URING(.multishot = true) },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
