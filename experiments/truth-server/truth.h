/* SPDX-License-Identifier: GPL-2.0 */
/*
 * truth.h - what the parts of truth-server share: the settings, the log of true times, the two service models.
 *
 * Protocol: a request is 16 bytes, fifteen digits of microseconds and a newline; so is the answer.
 */
#ifndef PARTIES_TRUTH_H
#define PARTIES_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

enum { TRUTH_MESSAGE_SIZE = 16, TRUTH_PIECE_SIZE = 8 };

struct truth_settings {
	bool spin;       /* burn CPU instead of sleeping */
	bool pieces;     /* read header and body with two reads */
	uint64_t gap_ns; /* answer with two writes this far apart; 0: with one */
	int listen_fd;
	int stop_fd;     /* signalfd: readable when the server shall end */
};

/* Serve until stop_fd is readable.  0 or negative errno. */
int blocking_serve(const struct truth_settings *settings);
int epoll_serve(const struct truth_settings *settings);

/* Microseconds of a request; -EPROTO when the message is not one. */
int truth_parse(const char message[TRUTH_MESSAGE_SIZE], uint64_t *ret_ns);

/* Notes one request, first read to last write.  Any thread. */
void truth_log(uint64_t ns);

/* Keeps the CPU busy until then, or sleeps. */
void truth_wait_until(const struct truth_settings *settings, uint64_t ns);

#endif
