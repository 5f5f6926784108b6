// SPDX-License-Identifier: GPL-2.0
/*
 * rights.c - port: effective capabilities against those the work needs.  It neither raises nor drops any.
 */
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	uint32_t cap, or_cap;
	bool steering; /* needed only to steer */
	const char *name;
} needs[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, false, "CAP_BPF (to load kernel programs)" },
	{ CAP_PERFMON, CAP_SYS_ADMIN, false, "CAP_PERFMON (to attach kernel programs)" },
	{ CAP_SYS_PTRACE, CAP_SYS_PTRACE, false, "CAP_SYS_PTRACE (to see whose socket a port is)" },
	{ CAP_DAC_OVERRIDE, CAP_DAC_OVERRIDE, true, "CAP_DAC_OVERRIDE (to write cgroups and frequencies)" },
	{ CAP_SYS_NICE, CAP_SYS_ADMIN, true, "CAP_SYS_NICE (to move other users' processes)" },
};

static bool has(const struct __user_cap_data_struct *data, uint32_t cap)
{
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

int rights_check(bool steer, char *error, size_t error_size)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	char missing[512] = "";

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		size_t used = strlen(missing);

		if ((needs[i].steering && !steer) || has(data, needs[i].cap) || has(data, needs[i].or_cap))
			continue;
		snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "", needs[i].name);
	}
	if (!missing[0])
		return 0;
	snprintf(error, error_size, "missing %s; run as root, or try `make sim`, which needs no rights", missing);
	return -EPERM;
}
