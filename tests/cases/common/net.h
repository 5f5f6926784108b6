/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net.h - sockets of the hard cases: listeners, clients, whole messages, many clients at once.
 *
 * A request and its answer are NET_MESSAGE bytes unless a case says otherwise.
 */
#ifndef TESTS_CASES_NET_H
#define TESTS_CASES_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { NET_MESSAGE = 16, NET_FIRST_PORT = 21300, NET_LAST_PORT = 21399 };

/* Where the last listener listens; clients connect there. */
extern struct sockaddr_storage net_address;
extern socklen_t net_address_size;

int net_listen(void); /* 127.0.0.1, TCP, or the family that is asked for */
int net_listen_with(int family, int protocol, int backlog);
uint16_t net_port(void);
/* A port nobody uses now. */
uint16_t net_free_port(void);

/* Ends the case as broken when it cannot. */
int net_connect(void);
void net_connect_to(uint16_t port); /* net_connect goes to 127.0.0.1:port from now on */
/* Until somebody listens; false when the process ends before, or after some seconds. */
bool net_wait(pid_t server);
/* Closes with a reset and leaves no TIME_WAIT. */
void net_abort(int fd);

/* False at the end of the connection or an error. */
bool net_read(int fd, void *buf, size_t size);
bool net_write(int fd, const void *buf, size_t size);

/* One request and its answer, noted as seen; the case is broken when there is no answer. */
void net_ask(int fd);
/* Sends `request`, reads `answer_size` bytes, notes it. */
void net_ask_with(int fd, const void *request, size_t size, size_t answer_size);

/* `nr` threads run `client`, which makes its own connections. */
void net_clients(unsigned int nr, void (*client)(void));
/* Both at the same time. */
void net_beside(void (*one)(void), void (*other)(void));

/* One connection, `nr` requests. */
void net_keep_alive(unsigned int nr);
/* `nr` connections one after the other, one request each; waits for the server's close. */
void net_one_each(unsigned int nr);

/* Serves requests until the end of the connection, each after that long. */
void net_serve(int fd, unsigned int us);

#endif
