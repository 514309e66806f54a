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

/* Those for whom `groups` had no room or whose process is not visible, as one process (pid 0).
 * Allocated beforehand: a new group in `groups` may find no memory at that moment. */
struct {
	NUMBER(type, MAP_PERCPU_HASH);
	NUMBER(max_entries, 128);
	TYPE(key, struct group_key);
	TYPE(value, struct group);
} others SEC(".maps");

/* An empty group: too large for a program's stack. */
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct group);
} blank SEC(".maps");

/* The group of this key in one of the two maps; made if it is new. */
INLINE struct group *group_in(void *map, struct group_key *key)
{
	struct group *group = map_lookup(map, key);
	struct group *empty;
	u32 first = 0;

	if (group)
		return group;
	empty = map_lookup(&blank, &first);
	if (!empty)
		return 0;
	current_comm(empty->comm, sizeof(empty->comm));
	map_update(map, key, empty, IF_ABSENT);
	return map_lookup(map, key);
}

/* The group of the running process, or of the others if there is no room for another. */
INLINE struct group *group_of(u32 pid, u32 kind, u32 system)
{
	struct group_key key = { pid, kind, system };
	struct group *group = pid ? group_in(&groups, &key) : 0;

	if (group)
		return group;
	key.pid = 0;
	return group_in(&others, &key);
}

/* The same for a process that may no longer be running: made when it was. */
INLINE struct group *known_group_of(u32 pid, u32 kind, u32 system)
{
	struct group_key key = { pid, kind, system };
	struct group *group = map_lookup(&groups, &key);

	if (group)
		return group;
	key.pid = 0;
	return map_lookup(&others, &key);
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
