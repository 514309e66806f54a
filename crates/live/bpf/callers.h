/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Whose calls and waits are watched, and how many could not be counted: what spans.h and
 * waits.bpf.c share.
 */
#ifndef IOWHY_CALLERS_H
#define IOWHY_CALLERS_H

#include "process.h"

/* include/uapi/linux/bpf.h */
#define MAP_HASH 1
#define MAP_PERCPU_HASH 5
#define NO_PREALLOC 1
#define IF_ABSENT 1

/* Handed in before loading. */
const volatile u32 only_pid;      /* 0: every process */
const volatile u32 own_pid;       /* never watched */
const volatile u8 only_comm[16];  /* empty: every name */

/* What could not be counted. */
enum missed { NO_GROUP, NO_START_KEPT, MISSED };

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, MISSED);
	TYPE(key, u32);
	TYPE(value, u64);
} missed SEC(".maps");

INLINE void miss(u32 why)
{
	u64 *count = map_lookup(&missed, &why);

	if (count)
		*count += 1;
}

/* Whether a process of this number may be watched. */
INLINE int is_wanted_pid(u32 pid)
{
	return pid != own_pid && (!only_pid || pid == only_pid);
}

/* Whether one of this name may be. */
INLINE int is_wanted_name(const char *comm)
{
	if (!only_comm[0])
		return 1;
#pragma unroll
	for (u32 at = 0; at < 16; at++)
		if (comm[at] != (char)only_comm[at])
			return 0;
	return 1;
}

/* Whether the running process is to be watched. */
INLINE int is_wanted(u32 pid)
{
	char comm[16] = {};

	if (!is_wanted_pid(pid))
		return 0;
	if (!only_comm[0])
		return 1;
	current_comm(comm, sizeof(comm));
	return is_wanted_name(comm);
}

#endif
