// SPDX-License-Identifier: GPL-2.0
/*
 * inject_calls.c - port: the calls about files that controller/ makes, with the faults that inject.h's rules want.
 *
 * No other file names these functions: the build renames the calls in every object of controller/ (Makefile,
 * `injected`), so that no call can be forgotten, and no other code, of tests or of libraries, is touched.  A path is
 * asked about as the call gives it, what is open by what the kernel calls it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject.h"
#include "inject_calls.h"

/* Whether the call has failed: errno says how.  Nothing else may become of it than that. */
static bool fails(struct inject_effect effect)
{
	if (effect.error)
		errno = -effect.error;
	return effect.error != 0;
}

static struct inject_effect look(enum inject_operation operation, const char *path)
{
	return inject_nr_rules() ? inject_look(operation, path) : (struct inject_effect){ 0 };
}

/* "" when it has no name. */
static void path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	path[len > 0 ? len : 0] = '\0';
}

static struct inject_effect look_at(enum inject_operation operation, int dir_fd, const char *path)
{
	char full[2 * PATH_MAX];

	if (!inject_nr_rules())
		return (struct inject_effect){ 0 };
	if (path[0] == '/' || dir_fd == AT_FDCWD)
		return inject_look(operation, path);
	path_of(dir_fd, full);
	snprintf(full + strlen(full), PATH_MAX, "/%s", path);
	return inject_look(operation, full);
}

static struct inject_effect look_fd(enum inject_operation operation, int fd)
{
	char path[PATH_MAX];

	if (!inject_nr_rules())
		return (struct inject_effect){ 0 };
	path_of(fd, path);
	return inject_look(operation, path);
}

int inject_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return fails(look(INJECT_OPEN, path)) ? -1 : open(path, flags, mode);
}

int inject_openat(int dir_fd, const char *path, int flags)
{
	return fails(look_at(INJECT_OPEN, dir_fd, path)) ? -1 : openat(dir_fd, path, flags);
}

/* What is read in place of the file: the text and a newline, whatever is below them. */
static size_t read_text(const char *text, char *buf, size_t size, off_t offset)
{
	size_t len = strlen(text), at = (size_t)offset, nr = 0;

	for (; at + nr <= len && nr < size; nr++)
		buf[nr] = at + nr == len ? '\n' : text[at + nr];
	return nr;
}

ssize_t inject_pread(int fd, void *buf, size_t size, off_t offset)
{
	struct inject_effect effect = look_fd(INJECT_READ, fd);

	if (fails(effect))
		return -1;
	if (effect.text)
		return (ssize_t)read_text(effect.text, buf, size, offset);
	return pread(fd, buf, effect.most && effect.most < size ? effect.most : size, offset);
}

/* Another text is read at the file's begin; whoever goes on reading finds its end. */
ssize_t inject_read(int fd, void *buf, size_t size)
{
	struct inject_effect effect = look_fd(INJECT_READ, fd);

	if (fails(effect))
		return -1;
	if (effect.text) {
		size_t nr = lseek(fd, 0, SEEK_CUR) ? 0 : read_text(effect.text, buf, size, 0);

		lseek(fd, 0, SEEK_END);
		return (ssize_t)nr;
	}
	return read(fd, buf, effect.most && effect.most < size ? effect.most : size);
}

ssize_t inject_pwrite(int fd, const void *buf, size_t size, off_t offset)
{
	struct inject_effect effect = look_fd(INJECT_WRITE, fd);

	if (fails(effect))
		return -1;
	if (effect.ignored)
		return (ssize_t)size;
	return pwrite(fd, buf, effect.most && effect.most < size ? effect.most : size, offset);
}

ssize_t inject_write(int fd, const void *buf, size_t size)
{
	struct inject_effect effect = look_fd(INJECT_WRITE, fd);

	if (fails(effect))
		return -1;
	if (effect.ignored)
		return (ssize_t)size;
	return write(fd, buf, effect.most && effect.most < size ? effect.most : size);
}

int inject_ftruncate(int fd, off_t size)
{
	struct inject_effect effect = look_fd(INJECT_WRITE, fd);

	return fails(effect) ? -1 : effect.ignored ? 0 : ftruncate(fd, size);
}

int inject_fsync(int fd)
{
	struct inject_effect effect = look_fd(INJECT_SYNC, fd);

	return fails(effect) ? -1 : effect.ignored ? 0 : fsync(fd);
}

int inject_fdatasync(int fd)
{
	struct inject_effect effect = look_fd(INJECT_SYNC, fd);

	return fails(effect) ? -1 : effect.ignored ? 0 : fdatasync(fd);
}

/* ---- streams: their reads and writes are the calls above --------------------------------------------------------- */

static ssize_t stream_read(void *cookie, char *buf, size_t size)
{
	return inject_read(*(int *)cookie, buf, size);
}

/* The library takes 0 for a failure. */
static ssize_t stream_write(void *cookie, const char *buf, size_t size)
{
	ssize_t done = inject_write(*(int *)cookie, buf, size);

	return done < 0 ? 0 : done;
}

static int stream_close(void *cookie)
{
	int code = close(*(int *)cookie);

	free(cookie);
	return code;
}

FILE *inject_fdopen(int fd, const char *mode)
{
	static const cookie_io_functions_t calls = { .read = stream_read, .write = stream_write, .close = stream_close };
	int *cookie;
	FILE *stream;

	if (!inject_nr_rules())
		return fdopen(fd, mode);
	cookie = malloc(sizeof(*cookie));
	if (!cookie)
		return NULL;
	*cookie = fd;
	stream = fopencookie(cookie, mode, calls);
	if (!stream)
		free(cookie);
	return stream;
}

FILE *inject_fopen(const char *path, const char *mode)
{
	FILE *stream;
	int fd;

	if (!inject_nr_rules())
		return fopen(path, mode);
	fd = inject_open(path, (mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND)) |
			 (strchr(mode, 'e') ? O_CLOEXEC : 0), 0666);
	stream = fd < 0 ? NULL : inject_fdopen(fd, mode);
	if (fd >= 0 && !stream)
		close(fd);
	return stream;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

int inject_stat(const char *path, struct stat *ret)
{
	return fails(look(INJECT_STAT, path)) ? -1 : stat(path, ret);
}

int inject_access(const char *path, int mode)
{
	return fails(look(INJECT_STAT, path)) ? -1 : access(path, mode);
}

int inject_faccessat(int dir_fd, const char *path, int mode, int flags)
{
	return fails(look_at(INJECT_STAT, dir_fd, path)) ? -1 : faccessat(dir_fd, path, mode, flags);
}

DIR *inject_opendir(const char *path)
{
	return fails(look(INJECT_OPENDIR, path)) ? NULL : opendir(path);
}

struct dirent *inject_readdir(DIR *dir)
{
	return fails(look_fd(INJECT_READDIR, dirfd(dir))) ? NULL : readdir(dir);
}

ssize_t inject_getdents64(int fd, void *buf, size_t size)
{
	return fails(look_fd(INJECT_READDIR, fd)) ? -1 : getdents64(fd, buf, size);
}

ssize_t inject_readlinkat(int dir_fd, const char *path, char *buf, size_t size)
{
	struct inject_effect effect = look_at(INJECT_READLINK, dir_fd, path);
	size_t len;

	if (fails(effect))
		return -1;
	if (!effect.text)
		return readlinkat(dir_fd, path, buf, effect.most && effect.most < size ? effect.most : size);
	len = strnlen(effect.text, size);
	memcpy(buf, effect.text, len);
	return (ssize_t)len;
}

ssize_t inject_readlink(const char *path, char *buf, size_t size)
{
	return inject_readlinkat(AT_FDCWD, path, buf, size);
}

int inject_mkdir(const char *path, mode_t mode)
{
	struct inject_effect effect = look(INJECT_MKDIR, path);

	return fails(effect) ? -1 : effect.ignored ? 0 : mkdir(path, mode);
}

int inject_rmdir(const char *path)
{
	struct inject_effect effect = look(INJECT_RMDIR, path);

	return fails(effect) ? -1 : effect.ignored ? 0 : rmdir(path);
}

int inject_unlink(const char *path)
{
	struct inject_effect effect = look(INJECT_UNLINK, path);

	return fails(effect) ? -1 : effect.ignored ? 0 : unlink(path);
}

int inject_rename(const char *from, const char *to)
{
	struct inject_effect effect = look(INJECT_RENAME, to);

	return fails(effect) ? -1 : effect.ignored ? 0 : rename(from, to);
}
