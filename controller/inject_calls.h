/* SPDX-License-Identifier: GPL-2.0 */
/*
 * inject_calls.h - what the calls about files of controller/ become, name by name.  Port.
 * Shapes and errors are those of the functions without inject_.  Nobody includes this to call them.
 */
#ifndef PARTIES_INJECT_CALLS_H
#define PARTIES_INJECT_CALLS_H

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

int inject_open(const char *path, int flags, ...);
int inject_openat(int dir_fd, const char *path, int flags);
ssize_t inject_read(int fd, void *buf, size_t size);
ssize_t inject_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t inject_write(int fd, const void *buf, size_t size);
ssize_t inject_pwrite(int fd, const void *buf, size_t size, off_t offset);
int inject_ftruncate(int fd, off_t size);
int inject_fsync(int fd);
int inject_fdatasync(int fd);
FILE *inject_fopen(const char *path, const char *mode);
FILE *inject_fdopen(int fd, const char *mode);
int inject_stat(const char *path, struct stat *ret);
int inject_access(const char *path, int mode);
int inject_faccessat(int dir_fd, const char *path, int mode, int flags);
DIR *inject_opendir(const char *path);
struct dirent *inject_readdir(DIR *dir);
ssize_t inject_getdents64(int fd, void *buf, size_t size);
ssize_t inject_readlink(const char *path, char *buf, size_t size);
ssize_t inject_readlinkat(int dir_fd, const char *path, char *buf, size_t size);
int inject_mkdir(const char *path, mode_t mode);
int inject_rmdir(const char *path);
int inject_unlink(const char *path);
int inject_rename(const char *from, const char *to);

#endif
