/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Time between a beginning and an end, counted per process and kind: what syscalls.bpf.c and
 * uprobe.bpf.c share.
 */
#ifndef IOWHY_SPANS_H
#define IOWHY_SPANS_H

#include "callers.h"
#include "edges.h"

/* Per process, kind and file system; a value per CPU, so that nothing has to be locked. */
struct group_key {
	u32 pid;
	u32 kind;
	u32 system; /* 0: not requested */
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

/* The group of the running process; made if it is new. */
INLINE struct group *group_of(u32 pid, u32 kind, u32 system)
{
	struct group_key key = { pid, kind, system };
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
