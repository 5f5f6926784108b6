// SPDX-License-Identifier: GPL-2.0
/*
 * test_notify.c - what a service manager hears, at a socket of a file and at one without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures/tree.h"
#include "notify.h"

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, path, strlen(path));
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + strlen(path)), 0);
	setenv("NOTIFY_SOCKET", path, 1);
	return fd;
}

static void hears(const char *path)
{
	char text[32] = "";
	int fd = listen_at(path);

	notify_manager("READY=1");
	assert_int_equal(read(fd, text, sizeof(text) - 1), 7);
	assert_string_equal(text, "READY=1");
	assert_int_equal(read(fd, text, sizeof(text)), -1);
	close(fd);
	notify_manager("STOPPING=1"); /* nobody listens any more */
}

static void a_manager_hears_it_wherever_it_listens(void **state)
{
	char root[TREE_PATH_SIZE], path[TREE_PATH_SIZE + 16];

	(void)state;
	tree_make(root);
	snprintf(path, sizeof(path), "%s/notify", root);
	hears(path);
	snprintf(path, sizeof(path), "@parties-test-%d", (int)getpid());
	hears(path);
	tree_remove(root);
}

static void without_a_manager_nothing_happens(void **state)
{
	char path[200];

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	notify_manager("READY=1");
	setenv("NOTIFY_SOCKET", "", 1);
	notify_manager("READY=1");
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	setenv("NOTIFY_SOCKET", path, 1);
	notify_manager("READY=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manager_hears_it_wherever_it_listens),
		cmocka_unit_test(without_a_manager_nothing_happens),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
