// SPDX-License-Identifier: GPL-2.0
/*
 * libraries.c - pure: the table of libraries whose functions say when a request begins and ends, a row each.  A row of
 * one's own does not have to be here: ebee_set_library takes any.
 */
#include "ebee.h"

/*
 * gRPC's C++ core, which serves C, too: one object for each stream of HTTP/2.  Of the mangled names only what all builds
 * share, for absl's namespace is in the rest.  The client's streams of the same process have no server_data.
 */
const struct ebee_library ebee_library_grpc = {
	.sz = sizeof(struct ebee_library),
	.name = "gRPC's C++ core",
	.file = "grpc",
	.begin = {
		/* grpc_chttp2_stream(this, transport, refcount, server_data, arena) */
		.symbol = "_ZN18grpc_chttp2_streamC1EP21grpc_chttp2_transport",
		.otherwise = "_ZN18grpc_chttp2_streamC2EP21grpc_chttp2_transport",
		.id = 1,
		.only_if = 4,
	},
	.end = {
		/* grpc_chttp2_mark_stream_closed(transport, stream, close_reads, close_writes, error); newer ones return it */
		.symbol = "_Z30grpc_chttp2_mark_stream_closedP21grpc_chttp2_transport",
		.id = 2,
		.only_if = 4,
		.status = 5,
		.shifts = 1,
	},
	.write = {
		/* grpc_chttp2_mark_stream_writable(transport, stream) */
		.symbol = "_Z32grpc_chttp2_mark_stream_writableP21grpc_chttp2_transport",
		.id = 2,
	},
	.max_writes = 3, /* initial metadata, message, trailing metadata */
};
