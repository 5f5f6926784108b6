// SPDX-License-Identifier: GPL-2.0
/*
 * response.c - the ends of memcached, redis (RESP), HTTP/1 and truth-server responses.  Pure: bytes in, state out; reads no socket.
 */
#include "response.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TRUTH_LINE_SIZE = 15 };

void response_begin(struct response *r, enum response_kind kind)
{
	*r = (struct response){ .kind = kind };
}

static bool starts_with(const char *line, const char *word)
{
	return !strncmp(line, word, strlen(word));
}

/* What follows "Name:" when the line is that header. */
static const char *header_value(const char *line, const char *name)
{
	size_t length = strlen(name);

	if (strncasecmp(line, name, length) || line[length] != ':')
		return NULL;
	return line + length + 1 + strspn(line + length + 1, " \t");
}

static int memcached_line(struct response *r)
{
	const char *size;
	char *end;

	if (!strcmp(r->line, "END") || !strcmp(r->line, "STORED")) {
		r->state = RESPONSE_DONE;
	} else if (starts_with(r->line, "VALUE ")) {
		size = strrchr(r->line, ' ') + 1;
		r->body_left = strtoull(size, &end, 10) + 2; /* the value's own line end */
		if (end == size || *end)
			return -EBADMSG;
		r->state = RESPONSE_BODY;
	} else if (starts_with(r->line, "SERVER_ERROR") || starts_with(r->line, "CLIENT_ERROR") ||
		   starts_with(r->line, "ERROR") || starts_with(r->line, "NOT_STORED")) {
		r->failed = true;
		r->state = RESPONSE_DONE;
	} else {
		return -EBADMSG;
	}
	return 0;
}

/* One line, or a string of a stated size; get and set have no answers of more parts. */
static int redis_line(struct response *r)
{
	char *end;
	long long size;

	switch (r->line[0]) {
	case '-':
		r->failed = true;
		r->state = RESPONSE_DONE;
		return 0;
	case '+':
		r->state = RESPONSE_DONE;
		return 0;
	case '$':
		size = strtoll(r->line + 1, &end, 10);
		if (end == r->line + 1 || *end || size < -1)
			return -EBADMSG;
		r->body_left = (uint64_t)size + 2; /* the string's own line end */
		r->state = size < 0 ? RESPONSE_DONE : RESPONSE_BODY; /* -1: no such key */
		return 0;
	default:
		return -EBADMSG;
	}
}

static int http_status_line(struct response *r)
{
	int status;

	if (!starts_with(r->line, "HTTP/1.") || strlen(r->line) < strlen("HTTP/1.1 200"))
		return -EBADMSG;
	status = atoi(r->line + strlen("HTTP/1.1 "));
	if (status < 100 || status > 999)
		return -EBADMSG;
	r->interim = status < 200;
	r->failed = status >= 400;
	r->peer_closes = starts_with(r->line, "HTTP/1.0");
	r->has_length = status == 204 || status == 304;
	r->state = RESPONSE_HEADER;
	return 0;
}

static void http_headers_end(struct response *r)
{
	if (r->interim) {
		r->state = RESPONSE_FIRST_LINE;
	} else if (r->chunked) {
		r->state = RESPONSE_CHUNK_LINE;
	} else if (r->has_length) {
		r->state = r->body_left ? RESPONSE_BODY : RESPONSE_DONE;
	} else {
		r->state = RESPONSE_BODY;
		r->until_close = r->peer_closes = true;
	}
}

static int http_header(struct response *r)
{
	const char *value;
	char *end;

	if (!r->line_size) {
		http_headers_end(r);
		return 0;
	}
	value = header_value(r->line, "Content-Length");
	if (value) {
		r->body_left = strtoull(value, &end, 10);
		r->has_length = true;
		if (end == value)
			return -EBADMSG;
	}
	value = header_value(r->line, "Transfer-Encoding");
	if (value && strcasestr(value, "chunked"))
		r->chunked = true;
	value = header_value(r->line, "Connection");
	if (value && strcasestr(value, "close"))
		r->peer_closes = true;
	return 0;
}

static int http_chunk_line(struct response *r)
{
	char *end;

	r->body_left = strtoull(r->line, &end, 16);
	if (end == r->line)
		return -EBADMSG;
	r->state = r->body_left ? RESPONSE_CHUNK : RESPONSE_TRAILER;
	r->body_left += 2; /* the chunk's own line end */
	return 0;
}

static int truth_line(struct response *r)
{
	if (r->line_size != TRUTH_LINE_SIZE || strspn(r->line, "0123456789") != TRUTH_LINE_SIZE)
		return -EBADMSG;
	r->state = RESPONSE_DONE;
	return 0;
}

static int take_line(struct response *r)
{
	if (r->line_size && r->line[r->line_size - 1] == '\r')
		r->line_size--;
	r->line[r->line_size] = '\0';
	if (r->kind == RESPONSE_MEMCACHED)
		return memcached_line(r);
	if (r->kind == RESPONSE_REDIS)
		return redis_line(r);
	if (r->kind == RESPONSE_TRUTH)
		return truth_line(r);
	switch (r->state) {
	case RESPONSE_FIRST_LINE:
		return http_status_line(r);
	case RESPONSE_HEADER:
		return http_header(r);
	case RESPONSE_CHUNK_LINE:
		return http_chunk_line(r);
	default: /* trailers: an empty line ends them */
		if (!r->line_size)
			r->state = RESPONSE_DONE;
		return 0;
	}
}

/* Takes bytes of the current line; returns how many, or negative errno. */
static int feed_line(struct response *r, const char *data, size_t size)
{
	const char *newline = memchr(data, '\n', size);
	size_t length = newline ? (size_t)(newline - data) : size;
	size_t room = sizeof(r->line) - 1 - r->line_size, kept = length < room ? length : room;
	int err = 0;

	memcpy(r->line + r->line_size, data, kept);
	r->line_size += (uint32_t)kept;
	if (newline) {
		err = take_line(r);
		r->line_size = 0;
	}
	return err ? err : (int)(length + (newline ? 1 : 0));
}

static size_t feed_body(struct response *r, size_t size)
{
	if (r->until_close)
		return size;
	if (size < r->body_left) {
		r->body_left -= size;
		return size;
	}
	size = r->body_left;
	r->body_left = 0;
	if (r->state == RESPONSE_CHUNK)
		r->state = RESPONSE_CHUNK_LINE;
	else /* after a value memcached goes on with END */
		r->state = r->kind == RESPONSE_MEMCACHED ? RESPONSE_FIRST_LINE : RESPONSE_DONE;
	return size;
}

int response_feed(struct response *r, const char *data, size_t size)
{
	int n;

	if (size)
		r->begun = true;
	while (size) {
		if (r->state == RESPONSE_DONE)
			return -EBADMSG;
		if (r->state == RESPONSE_BODY || r->state == RESPONSE_CHUNK)
			n = (int)feed_body(r, size);
		else
			n = feed_line(r, data, size);
		if (n < 0)
			return n;
		data += n;
		size -= (size_t)n;
	}
	return r->state == RESPONSE_DONE;
}

int response_end(struct response *r)
{
	if (!r->until_close)
		return -ECONNRESET;
	r->state = RESPONSE_DONE;
	return 1;
}
