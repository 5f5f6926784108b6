// SPDX-License-Identifier: GPL-2.0
/*
 * rights.c - port: effective capabilities against those the work needs.  It neither raises nor drops any.
 */
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	uint32_t cap, or_cap;
	unsigned int work;
	const char *name;
} needs[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, RIGHTS_MEASURE, "CAP_BPF (to load kernel programs)" },
	{ CAP_PERFMON, CAP_SYS_ADMIN, RIGHTS_MEASURE, "CAP_PERFMON (to attach kernel programs)" },
	{ CAP_SYS_PTRACE, CAP_SYS_PTRACE, RIGHTS_SEE_OTHERS, "CAP_SYS_PTRACE (to look at other users' processes)" },
	{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, RIGHTS_SEE_OTHERS, "CAP_DAC_READ_SEARCH (to list their descriptors)" },
	{ CAP_DAC_OVERRIDE, CAP_DAC_OVERRIDE, RIGHTS_STEER, "CAP_DAC_OVERRIDE (to write cgroups and frequencies)" },
	{ CAP_SYS_NICE, CAP_SYS_ADMIN, RIGHTS_STEER, "CAP_SYS_NICE (to move other users' processes)" },
	{ CAP_NET_ADMIN, CAP_SYS_ADMIN, RIGHTS_EGRESS, "CAP_NET_ADMIN (to hold packets back)" },
};

static bool has(const struct __user_cap_data_struct *data, uint32_t cap)
{
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

int rights_check(unsigned int work, char *missing, size_t size)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	size_t used = 0;

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!(needs[i].work & work) || has(data, needs[i].cap) || has(data, needs[i].or_cap))
			continue;
		if (used < size)
			snprintf(missing + used, size - used, "%s%s", used ? ", " : "", needs[i].name);
		used = strlen(missing);
	}
	return used ? -EPERM : 0;
}
