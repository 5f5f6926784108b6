/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lock.c - one instance at a time.  Port.
 *
 * flock dies with its holder, so a killed run leaves a file but no lock.  The file is removed while it is locked;
 * whoever opened it just before then holds a lock on a file without a name, sees that, and tries again.
 */
#include "lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char made_mark[] = "made-directory";

static void path_of(const struct lock *lock, char path[KNOB_PATH_SIZE + 8])
{
	snprintf(path, KNOB_PATH_SIZE + 8, "%s/lock", lock->dir);
}

/* 0: held; -EAGAIN: the file went away meanwhile. */
static int try_take(struct lock *lock, char *text, size_t size)
{
	char path[KNOB_PATH_SIZE + 8];
	struct stat ours, named;
	bool locked;
	ssize_t len;

	path_of(lock, path);
	lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock->fd < 0)
		return -errno;
	locked = flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
	if (!locked && errno != EWOULDBLOCK)
		return -errno;
	len = pread(lock->fd, text, size - 1, 0);
	text[len > 0 ? len : 0] = '\0';
	if (!locked)
		return -EBUSY;
	if (fstat(lock->fd, &ours) || stat(path, &named) || ours.st_ino != named.st_ino)
		return -EAGAIN;
	return 0;
}

static int sign(struct lock *lock)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%d%s%s\n", (int)getpid(), lock->made_dir ? " " : "",
			   lock->made_dir ? made_mark : "");

	if (ftruncate(lock->fd, 0) || pwrite(lock->fd, text, (size_t)len, 0) != len)
		return -(errno ? errno : EIO);
	return 0;
}

int lock_take(struct lock *lock, const char *dir, bool make, char *error, size_t error_size)
{
	struct lock new = { .fd = -1 };
	char text[64] = "";
	int err = -EAGAIN;

	if (snprintf(new.dir, sizeof(new.dir), "%s", dir) >= (int)sizeof(new.dir))
		return -ENAMETOOLONG;
	for (int attempt = 0; attempt < 100 && err == -EAGAIN; attempt++) {
		if (make && mkdir(dir, 0700) == 0)
			new.made_dir = true;
		else if (make && errno != EEXIST) {
			err = -errno;
			break;
		}
		if (new.fd >= 0)
			close(new.fd);
		err = try_take(&new, text, sizeof(text));
		if (err == -ENOENT && make)
			err = -EAGAIN; /* the holder before us has just removed the directory */
	}
	if (!err) {
		new.made_dir = new.made_dir || strstr(text, made_mark);
		err = sign(&new);
	}
	if (!err) {
		*lock = new;
		return 0;
	}
	if (new.fd >= 0)
		close(new.fd);
	if (err == -EBUSY)
		snprintf(error, error_size, "another instance is running, pid %.*s (lock %s/lock)",
			 (int)strspn(text, "0123456789"), text, dir);
	else
		snprintf(error, error_size, "cannot lock %s/lock: %s", dir, strerror(-err));
	return err;
}

/* A line of /proc/locks: "1: FLOCK ADVISORY WRITE 812 00:17:1234 0 EOF", the device in hex. */
static bool is_locked(const char *root, const struct stat *st)
{
	char path[KNOB_PATH_SIZE], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/locks", root);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		unsigned int high, low;
		unsigned long inode;

		found = sscanf(line, "%*d: FLOCK %*s %*s %*d %x:%x:%lu", &high, &low, &inode) == 3 &&
			inode == st->st_ino && high == major(st->st_dev) && low == minor(st->st_dev);
	}
	if (file)
		fclose(file);
	return found;
}

int lock_look(const char *root, const char *dir, char holder[16])
{
	char path[KNOB_PATH_SIZE], text[64] = "";
	struct stat st;
	int err;

	if (snprintf(path, sizeof(path), "%s%s/lock", root, dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (stat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!is_locked(root, &st))
		return 0;
	err = knob_read_path(path, text, sizeof(text));
	snprintf(holder, 16, "%.*s", (int)strspn(text, "0123456789"), text);
	return err < 0 && err != -ENOENT ? err : -EBUSY;
}

/* The directory holds nothing but the lock; "." and ".." count. */
static bool is_alone(const struct lock *lock)
{
	DIR *dir = opendir(lock->dir);
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr <= 3;
}

void lock_release(struct lock *lock)
{
	char path[KNOB_PATH_SIZE + 8];

	if (lock->fd < 0)
		return;
	path_of(lock, path);
	/* While something waits there to be put back, the file remembers whose directory it is. */
	if (!lock->made_dir || is_alone(lock))
		unlink(path);
	if (lock->made_dir)
		rmdir(lock->dir);
	close(lock->fd);
	lock->fd = -1;
}
