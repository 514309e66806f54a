/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Time between a beginning and an end, counted per process and kind: what syscalls.bpf.c and
 * uprobe.bpf.c share.
 */
#ifndef IOWHY_SPANS_H
#define IOWHY_SPANS_H

#include "process.h"
#include "edges.h"

/* include/uapi/linux/bpf.h */
#define MAP_HASH 1
#define MAP_PERCPU_HASH 5
#define NO_PREALLOC 1
#define IF_ABSENT 1

/* Handed in before loading. */
const volatile u32 only_pid;      /* 0: every process */
const volatile u32 own_pid;       /* never watched */
const volatile u8 only_comm[16];  /* empty: every name */

/* Per process and kind; a value per CPU, so that nothing has to be locked. */
struct group_key {
	u32 pid;
	u32 kind;
};

struct group {
	u64 counts[BUCKETS];
	u64 sum;
	u64 min; /* plus one, so that 0 is none */
	u64 max;
	u64 failed;
	u64 amount; /* bytes, where the span moved any */
	char comm[16];
};

struct {
	NUMBER(type, MAP_PERCPU_HASH);
	NUMBER(map_flags, NO_PREALLOC);
	NUMBER(max_entries, 4096);
	TYPE(key, struct group_key);
	TYPE(value, struct group);
} groups SEC(".maps");

/* An empty group: too large for a program's stack. */
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct group);
} blank SEC(".maps");

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

/* Whether the running process is to be watched. */
INLINE int is_wanted(u32 pid)
{
	char comm[16] = {};

	if (pid == own_pid || (only_pid && pid != only_pid))
		return 0;
	if (!only_comm[0])
		return 1;
	current_comm(comm, sizeof(comm));
#pragma unroll
	for (u32 at = 0; at < 16; at++)
		if (comm[at] != (char)only_comm[at])
			return 0;
	return 1;
}

/* The group of the running process; made if it is new. */
INLINE struct group *group_of(u32 pid, u32 kind)
{
	struct group_key key = { pid, kind };
	struct group *group = map_lookup(&groups, &key);
	struct group *empty;
	u32 first = 0;

	if (group)
		return group;
	empty = map_lookup(&blank, &first);
	if (!empty)
		return 0;
	current_comm(empty->comm, sizeof(empty->comm));
	map_update(&groups, &key, empty, IF_ABSENT);
	return map_lookup(&groups, &key);
}

INLINE void count_span(struct group *group, u64 ns)
{
	u64 place = bucket(ns);

	/* The compiler knows that `place` is below BUCKETS; the verifier must see it checked. */
	asm volatile("" : "+r"(place));
	if (!group) {
		miss(NO_GROUP);
		return;
	}
	if (place >= BUCKETS)
		return;
	group->counts[place] += 1;
	group->sum += ns;
	if (!group->min || ns + 1 < group->min)
		group->min = ns + 1;
	if (ns > group->max)
		group->max = ns;
}

#endif
