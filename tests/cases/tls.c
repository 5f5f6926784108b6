// SPDX-License-Identifier: GPL-2.0
/*
 * tls.c - hard cases of TLS: handshakes are no requests, records come in pieces, answers in several.
 *
 * What is not recognised may be declared as tls_unsure, with the first two exchanges of a connection left out.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "common/net.h"
#include "common/rig.h"

struct variant {
	int version;
	int answer;   /* bytes */
	bool split;   /* the client's records go out in two segments */
	bool kernel;  /* records are made by the kernel */
};

static const struct variant *variant(void)
{
	return rig.current->variant;
}

/* ---- server ------------------------------------------------------------------------------------------------------ */

/* A key and a certificate for this run. */
static SSL_CTX *server_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	X509_NAME *name = X509_get_subject_name(certificate);

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(certificate, name);
	X509_set_pubkey(certificate, key);
	if (!X509_sign(certificate, key, EVP_sha256()) || SSL_CTX_use_certificate(context, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey(context, key) != 1)
		_exit(1);
	SSL_CTX_set_min_proto_version(context, variant()->version);
	SSL_CTX_set_max_proto_version(context, variant()->version);
	if (variant()->kernel)
		SSL_CTX_set_options(context, SSL_OP_ENABLE_KTLS);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return context;
}

static bool read_message(SSL *ssl, int size)
{
	char buf[4096];

	for (int got = 0, n; got < size; got += n) {
		n = SSL_read(ssl, buf, size - got < (int)sizeof(buf) ? size - got : (int)sizeof(buf));
		if (n <= 0)
			return false;
	}
	return true;
}

static void serve(int fd)
{
	static const char answer[65536];
	SSL_CTX *context = server_context();
	SSL *ssl = SSL_new(context);

	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1) {
		while (read_message(ssl, NET_MESSAGE)) {
			rig_sleep_us(4000);
			if (SSL_write(ssl, answer, variant()->answer) <= 0)
				break;
		}
		SSL_shutdown(ssl);
	}
	SSL_free(ssl);
	SSL_CTX_free(context);
}

/* ---- client ------------------------------------------------------------------------------------------------------ */

static SSL *client_connect(SSL_CTX *context)
{
	SSL *ssl = SSL_new(context);

	SSL_set_fd(ssl, net_connect());
	if (SSL_connect(ssl) != 1)
		rig_broken("TLS handshake");
	return ssl;
}

static void client_close(SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	SSL_shutdown(ssl);
	SSL_free(ssl);
	close(fd);
}

/* Encrypts into memory and sends that in two parts. */
static void write_split(SSL *ssl, const char *message, uint64_t *ret_last)
{
	BIO *memory = BIO_new(BIO_s_mem()), *socket = SSL_get_wbio(ssl);
	char *record;
	long size;

	BIO_up_ref(socket);
	SSL_set0_wbio(ssl, memory);
	SSL_write(ssl, message, NET_MESSAGE);
	size = BIO_get_mem_data(memory, &record);
	net_write(SSL_get_rfd(ssl), record, 7);
	rig_sleep_us(5000);
	*ret_last = rig_clock_us();
	net_write(SSL_get_rfd(ssl), record + 7, (size_t)size - 7);
	SSL_set0_wbio(ssl, socket);
}

static void ask(SSL *ssl)
{
	static const char message[NET_MESSAGE];
	uint64_t start = rig_clock_us();

	if (variant()->split)
		write_split(ssl, message, &start);
	else
		SSL_write(ssl, message, NET_MESSAGE);
	if (!read_message(ssl, variant()->answer))
		rig_broken("the client got no answer");
	rig_saw(RIG_SEEN, rig_clock_us() - start);
}

static void client_keep_alive(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = client_connect(context);

	rig_sleep_us(30000);
	for (int i = 0; i < 20; i++)
		ask(ssl);
	client_close(ssl);
	SSL_CTX_free(context);
}

static void client_one_each(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	for (int i = 0; i < 10; i++) {
		SSL *ssl = client_connect(context);

		ask(ssl);
		client_close(ssl);
	}
	SSL_CTX_free(context);
}

/* The handshake is part of it. */
static void client_whole_connections(void)
{
	for (int i = 0; i < 10; i++) {
		SSL_CTX *context = SSL_CTX_new(TLS_client_method());
		uint64_t start = rig_clock_us();
		SSL *ssl = client_connect(context);

		SSL_write(ssl, "request.........", NET_MESSAGE);
		if (!read_message(ssl, variant()->answer))
			rig_broken("the client got no answer");
		rig_saw(RIG_SEEN, rig_clock_us() - start);
		client_close(ssl);
		SSL_CTX_free(context);
	}
}

/* Skips without kernel TLS, which shows on a connection only. */
static int listen_with_kernel_tls(void)
{
	int listener = net_listen(), fd = net_connect(), err;

	err = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) ? errno : 0;
	close(fd);
	close(accept(listener, NULL, NULL));
	if (err)
		rig_skip("this kernel has no TLS: %s", strerror(err));
	return listener;
}

#define TLS(...) .serve = serve, .variant = &(const struct variant){ __VA_ARGS__ }
#define KEEP_ALIVE .client = client_keep_alive, .expect = { .nr = 20, .us = 4000, .may_declare = "tls_unsure" }

static const struct rig_case cases[] = {
	{ "32a", "TLS 1.3, keep-alive", TLS(TLS1_3_VERSION, 16), KEEP_ALIVE },
	{ "32b", "TLS 1.2, keep-alive", TLS(TLS1_2_VERSION, 16), KEEP_ALIVE },
	{ "32c", "TLS 1.3, answers of several records", TLS(TLS1_3_VERSION, 40000), KEEP_ALIVE },
	{ "32d", "TLS 1.3, records of requests in two segments", TLS(TLS1_3_VERSION, 16, .split = true), KEEP_ALIVE },
	{ "32e", "TLS 1.3, a connection per request", TLS(TLS1_3_VERSION, 16), .client = client_one_each,
	  .expect = { .nr = 10, .us = 4000, .may_declare = "tls_unsure" } },
	{ "32f", "TLS 1.2, a connection per request", TLS(TLS1_2_VERSION, 16), .client = client_one_each,
	  .expect = { .nr = 10, .us = 4000, .may_declare = "tls_unsure" } },
	{ "32g", "TLS 1.3, observed per connection", TLS(TLS1_3_VERSION, 16), .client = client_whole_connections,
	  .lifecycle = "connection", .expect = { .nr = 10, .us = 4000 } },
	{ "32h", "TLS 1.3 by the kernel, keep-alive", TLS(TLS1_3_VERSION, 16, .kernel = true),
	  .listen = listen_with_kernel_tls, KEEP_ALIVE },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
