// SPDX-License-Identifier: GPL-2.0
/*
 * calls.c - hard cases about which system call reads a request and which writes its answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/errqueue.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

/* Each reads or writes one whole message; false at the end or when the call does not work here. */
typedef bool transfer_fn(int fd, char *buf);

struct variant {
	transfer_fn *read, *write;
};

/* ---- reads ------------------------------------------------------------------------------------------------------- */

static bool by_read(int fd, char *buf)
{
	return read(fd, buf, NET_MESSAGE) == NET_MESSAGE;
}

static bool by_readv(int fd, char *buf)
{
	struct iovec parts[] = { { buf, 9 }, { buf + 9, NET_MESSAGE - 9 } };

	return readv(fd, parts, 2) == NET_MESSAGE;
}

static bool by_preadv2(int fd, char *buf)
{
	struct iovec part = { buf, NET_MESSAGE };

	return preadv2(fd, &part, 1, -1, 0) == NET_MESSAGE;
}

static bool by_recv(int fd, char *buf)
{
	return recv(fd, buf, NET_MESSAGE, 0) == NET_MESSAGE;
}

static bool by_recvfrom(int fd, char *buf)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);

	return recvfrom(fd, buf, NET_MESSAGE, 0, (struct sockaddr *)&from, &size) == NET_MESSAGE;
}

static bool by_recvmsg(int fd, char *buf)
{
	struct iovec part = { buf, NET_MESSAGE };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return recvmsg(fd, &message, 0) == NET_MESSAGE;
}

static bool by_recvmmsg(int fd, char *buf)
{
	struct iovec part = { buf, NET_MESSAGE };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };

	return recvmmsg(fd, &message, 1, 0, NULL) == 1 && message.msg_len == NET_MESSAGE;
}

/* Looks first, then twice as often as needed. */
static bool by_peek(int fd, char *buf)
{
	return recv(fd, buf, NET_MESSAGE, MSG_PEEK) > 0 && recv(fd, buf, NET_MESSAGE, MSG_PEEK) > 0 && by_recv(fd, buf);
}

static bool by_waitall(int fd, char *buf)
{
	return recv(fd, buf, NET_MESSAGE, MSG_WAITALL) == NET_MESSAGE;
}

static bool by_lowat(int fd, char *buf)
{
	int mark = NET_MESSAGE;

	return !setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)) && by_recv(fd, buf);
}

/* Thrown away unseen. */
static bool by_trunc(int fd, char *buf)
{
	return recv(fd, buf, NET_MESSAGE, MSG_TRUNC) == NET_MESSAGE;
}

static bool by_bytes(int fd, char *buf)
{
	for (int i = 0; i < NET_MESSAGE; i++)
		if (read(fd, buf + i, 1) != 1)
			return false;
	return true;
}

static bool by_poll(int fd, char *buf)
{
	struct pollfd readable = { fd, POLLIN, 0 };

	return poll(&readable, 1, -1) == 1 && recv(fd, buf, NET_MESSAGE, MSG_DONTWAIT) == NET_MESSAGE;
}

/* Linux's native asynchronous I/O; waits in the call, for sockets. */
static bool aio(int fd, char *buf, unsigned int what)
{
	struct iocb cb = { .aio_lio_opcode = (__u16)what,
			   .aio_fildes = (__u32)fd,
			   .aio_buf = (uintptr_t)buf,
			   .aio_nbytes = NET_MESSAGE };
	struct iocb *cbs[] = { &cb };
	struct io_event event = { 0 };
	static __thread aio_context_t context;

	if (!context && syscall(SYS_io_setup, 1, &context))
		return false;
	return syscall(SYS_io_submit, context, 1, cbs) == 1 &&
	       syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1 && event.res == NET_MESSAGE;
}

static bool by_aio_read(int fd, char *buf)
{
	return aio(fd, buf, IOCB_CMD_PREAD);
}

static bool by_splice_read(int fd, char *buf)
{
	int pipes[2];
	bool done = !pipe(pipes) && splice(fd, NULL, pipes[1], NULL, NET_MESSAGE, 0) == NET_MESSAGE &&
		    read(pipes[0], buf, NET_MESSAGE) == NET_MESSAGE;

	close(pipes[0]);
	close(pipes[1]);
	return done;
}

/* Short messages are copied by it, like a read, but by no read call. */
static bool by_zerocopy_receive(int fd, char *buf)
{
	struct tcp_zerocopy_receive how = { .copybuf_address = (uintptr_t)buf, .copybuf_len = NET_MESSAGE };
	struct pollfd readable = { fd, POLLIN, 0 };
	socklen_t size = sizeof(how);

	return poll(&readable, 1, -1) == 1 && !getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &how, &size) &&
	       how.copybuf_len == NET_MESSAGE;
}

/* ---- writes ------------------------------------------------------------------------------------------------------ */

static bool by_write(int fd, char *buf)
{
	return write(fd, buf, NET_MESSAGE) == NET_MESSAGE;
}

static bool by_writev(int fd, char *buf)
{
	struct iovec parts[] = { { buf, 9 }, { buf + 9, NET_MESSAGE - 9 } };

	return writev(fd, parts, 2) == NET_MESSAGE;
}

static bool by_pwritev2(int fd, char *buf)
{
	struct iovec part = { buf, NET_MESSAGE };

	return pwritev2(fd, &part, 1, -1, 0) == NET_MESSAGE;
}

static bool by_send(int fd, char *buf)
{
	return send(fd, buf, NET_MESSAGE, MSG_NOSIGNAL) == NET_MESSAGE;
}

static bool by_sendmsg(int fd, char *buf)
{
	struct iovec part = { buf, NET_MESSAGE };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(fd, &message, 0) == NET_MESSAGE;
}

static bool by_sendmmsg(int fd, char *buf)
{
	struct iovec parts[] = { { buf, 9 }, { buf + 9, NET_MESSAGE - 9 } };
	struct mmsghdr messages[] = { { .msg_hdr = { .msg_iov = &parts[0], .msg_iovlen = 1 } },
				      { .msg_hdr = { .msg_iov = &parts[1], .msg_iovlen = 1 } } };

	return sendmmsg(fd, messages, 2, 0) == 2;
}

static bool by_more(int fd, char *buf)
{
	return send(fd, buf, 9, MSG_MORE) == 9 && send(fd, buf + 9, NET_MESSAGE - 9, 0) > 0;
}

static bool by_cork(int fd, char *buf)
{
	int on = 1, off = 0;

	return !setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)) && write(fd, buf, 9) == 9 &&
	       write(fd, buf + 9, NET_MESSAGE - 9) > 0 && !setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
}

static bool by_zerocopy_send(int fd, char *buf)
{
	struct pollfd notice = { fd, 0, 0 };
	char control[128];
	struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };
	int on = 1;

	return !setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) &&
	       send(fd, buf, NET_MESSAGE, MSG_ZEROCOPY) == NET_MESSAGE && poll(&notice, 1, 1000) == 1 &&
	       recvmsg(fd, &message, MSG_ERRQUEUE) >= 0;
}

static bool by_aio_write(int fd, char *buf)
{
	return aio(fd, buf, IOCB_CMD_PWRITE);
}

/* Header by send, body by sendfile, as web servers do. */
static bool by_sendfile(int fd, char *buf)
{
	int file = memfd_create("body", MFD_CLOEXEC);
	off_t at = 0;
	bool done = file >= 0 && write(file, buf, NET_MESSAGE) == NET_MESSAGE && send(fd, buf, 6, MSG_MORE) == 6;

	if (done)
		rig_sleep_us(2000);
	done = done && sendfile(fd, file, &at, NET_MESSAGE - 6) == NET_MESSAGE - 6;
	close(file);
	return done;
}

/* From a pipe; `map` hands over pages instead of copying into it. */
static bool splice_out(int fd, char *buf, bool map)
{
	struct iovec part = { buf, NET_MESSAGE };
	int pipes[2];
	bool done = !pipe(pipes) &&
		    (map ? vmsplice(pipes[1], &part, 1, 0) : write(pipes[1], buf, NET_MESSAGE)) == NET_MESSAGE &&
		    splice(pipes[0], NULL, fd, NULL, NET_MESSAGE, 0) == NET_MESSAGE;

	close(pipes[0]);
	close(pipes[1]);
	return done;
}

static bool by_splice(int fd, char *buf)
{
	return splice_out(fd, buf, false);
}

static bool by_vmsplice(int fd, char *buf)
{
	return splice_out(fd, buf, true);
}

/* ---- server and client ------------------------------------------------------------------------------------------- */

static void serve(int fd)
{
	const struct variant *v = rig.current->variant;
	char buf[NET_MESSAGE];

	while (v->read(fd, buf)) {
		rig_sleep_us(2000);
		if (!v->write(fd, buf))
			break;
	}
}

static void client(void)
{
	net_keep_alive(20);
}

static int listen_unix(void)
{
	return net_listen_with(AF_UNIX, 0, 128);
}

#define READS(how) \
	.serve = serve, .client = client, .variant = &(const struct variant) { how, by_write }, \
	.expect = { .nr = 20, .us = 2000 }
#define WRITES(how) \
	.serve = serve, .client = client, .variant = &(const struct variant) { by_read, how }, \
	.expect = { .nr = 20, .us = 2000 }

static const struct rig_case cases[] = {
	{ "24-readv", "request by readv", READS(by_readv) },
	{ "24-preadv2", "request by preadv2", READS(by_preadv2) },
	{ "24-recv", "request by recv", READS(by_recv) },
	{ "24-recvfrom", "request by recvfrom", READS(by_recvfrom) },
	{ "24-recvmsg", "request by recvmsg", READS(by_recvmsg) },
	{ "24-recvmmsg", "request by recvmmsg", READS(by_recvmmsg) },
	{ "24-peek", "request looked at with MSG_PEEK, then read", READS(by_peek) },
	{ "24-waitall", "request by recv with MSG_WAITALL", READS(by_waitall) },
	{ "24-lowat", "request by recv above SO_RCVLOWAT", READS(by_lowat) },
	{ "24-trunc", "request thrown away with MSG_TRUNC", READS(by_trunc) },
	{ "24-bytes", "request byte by byte", READS(by_bytes) },
	{ "24-poll", "request by poll and non-blocking recv", READS(by_poll) },
	{ "24-aio", "request and answer by io_submit", .serve = serve, .client = client,
	  .variant = &(const struct variant) { by_aio_read, by_aio_write }, .expect = { .nr = 20, .us = 2000 } },
	{ "24-zcrecv", "request by TCP_ZEROCOPY_RECEIVE", .only_tcp = true, READS(by_zerocopy_receive) },
	{ "22a", "request spliced from TCP", .only_tcp = true, READS(by_splice_read) },
	{ "22b", "request and answer spliced, TCP", .only_tcp = true, .serve = serve, .client = client,
	  .variant = &(const struct variant) { by_splice_read, by_splice }, .expect = { .nr = 20, .us = 2000 } },
	{ "22c", "request spliced from AF_UNIX", .only_tcp = true, .listen = listen_unix, .serve = serve,
	  .client = client, .variant = &(const struct variant) { by_splice_read, by_write },
	  .expect = { .nr = 20, .us = 2000, .may_declare = "unmatched,unseen_read" } },
	{ "24-write", "answer by write", WRITES(by_write) },
	{ "24-writev", "answer by writev", WRITES(by_writev) },
	{ "24-pwritev2", "answer by pwritev2", WRITES(by_pwritev2) },
	{ "24-send", "answer by send", WRITES(by_send) },
	{ "24-sendmsg", "answer by sendmsg", WRITES(by_sendmsg) },
	{ "24-sendmmsg", "answer by sendmmsg, two messages", WRITES(by_sendmmsg) },
	{ "24-more", "answer by send with MSG_MORE and send", WRITES(by_more) },
	{ "24-cork", "answer by two writes under TCP_CORK", .only_tcp = true, WRITES(by_cork) },
	{ "24-zcsend", "answer by send with MSG_ZEROCOPY", .only_tcp = true, WRITES(by_zerocopy_send) },
	{ "21", "header by send, 2 ms later body by sendfile", .serve = serve, .client = client,
	  .variant = &(const struct variant) { by_read, by_sendfile }, .expect = { .nr = 20, .us = 4000 } },
	{ "24-splice", "answer by splice", WRITES(by_splice) },
	{ "24-vmsplice", "answer by vmsplice and splice", WRITES(by_vmsplice) },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
