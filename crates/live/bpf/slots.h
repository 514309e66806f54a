/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What is known of requests and bios on their way, keyed by their addresses.
 */
#ifndef IOWHY_SLOTS_H
#define IOWHY_SLOTS_H

#include "tables.h"

/* ---- slots: what is known of a request in flight ---- */

#define WAYS 4

struct life {
	u64 queued; /* 0: not seen */
	u64 issued; /* the first issue; 0: not yet */
	u64 sector;
	u32 bytes;
	u32 cmd_flags;
	u32 pid;
	u32 depth : 30;
	u32 given_back : 1; /* requeued, and not issued again yet */
	u32 unwanted : 1;   /* its process or control group is not asked for */
	u32 number; /* the device, as in its table */
	u32 on_device; /* 0: no; else its place in the device table, plus one */
	u64 arrived; /* 0: not seen, or not asked for */
	u64 cgroup;  /* 0: not asked for, or nobody's */
};

/* Lines of the cache travel between the CPU that sends a request and the one that completes it, so
 * a probe should touch few: the identities fill one, each life another. */
struct set {
	u64 ids[WAYS];
	u64 unused[WAYS];
	struct life lives[WAYS];
	u64 comms[WAYS][2];
};

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(map_flags, ON_PAGES);
	NUMBER(max_entries, 1024);
	TYPE(key, u32);
	TYPE(value, struct set);
} slots SEC(".maps");

static u64 anchor;

/* The address of a request or bio as a plain number. The verifier guards kernel pointers, but the
 * difference of two pointers is a number to it (and needs CAP_PERFMON). */
INLINE u64 identity(void *pointer)
{
	u64 id = (u64)pointer, base = (u64)&anchor;

	asm volatile("%0 -= %1" : "+r"(id) : "r"(base));
	return id;
}

/* Fibonacci hashing; requests and bios are larger than 64 bytes, so the low bits say nothing. */
INLINE u32 scattered(u64 id, u32 bits)
{
	return (u32)(((id >> 6) * 0x9e3779b97f4a7c15ULL) >> (64 - bits));
}

INLINE struct set *set_of(u64 id)
{
	u32 key = scattered(id, set_bits);

	return map_lookup(&slots, &key);
}

INLINE u32 way_of(struct set *set, u64 id)
{
	if (set->ids[0] == id) return 0;
	if (set->ids[1] == id) return 1;
	if (set->ids[2] == id) return 2;
	if (set->ids[3] == id) return 3;
	return WAYS;
}

/* A free way. CPUs begin at different ones, so that two rarely choose the same. */
INLINE u32 free_way(struct set *set)
{
	u32 first = smp_processor_id();

#pragma unroll
	for (u32 way = 0; way < WAYS; way++) {
		u32 at = (first + way) & (WAYS - 1);

		if (!set->ids[at])
			return at;
	}
	return WAYS;
}

INLINE void enter_device(struct life *life, struct device *device, u32 place)
{
	if (!device || life->on_device)
		return;
	life->on_device = place + 1;
	__sync_fetch_and_add(&device->in_flight, 1);
	life->depth = device->in_flight;
}

INLINE void leave_device(struct life *life)
{
	struct device *device;
	u32 place = life->on_device - 1;

	if (!life->on_device)
		return;
	life->on_device = 0;
	device = map_lookup(&devices, &place);
	if (device)
		__sync_fetch_and_add(&device->in_flight, -1);
}

/* ---- origins: files and stacks, beside the slots where they are asked for ---- */

struct file_key {
	u64 inode; /* 0: no file */
	u32 dev;   /* of its file system */
	u32 generation;
};

struct origin {
	struct file_key file;
	s32 kernel_stack; /* negative: none */
	s32 user_stack;
};

struct origins {
	struct origin of[WAYS];
};

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct origins);
} origins SEC(".maps");

/* The stacks, by their numbers. */
#define FRAMES 48
struct frames {
	u64 at[FRAMES];
};

struct {
	NUMBER(type, MAP_STACK_TRACE);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct frames);
} traces SEC(".maps");

/* ---- arrivals: when a bio came, until its request starts ---- */

struct arrival {
	u64 id;
	u64 at;
};

/* One place each. A bio that is merged into a request never asks for its own, so the next one
 * with that place takes it. */
struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct arrival);
} arrivals SEC(".maps");

INLINE void remember_arrival(struct bio *bio)
{
	u64 id = identity(bio);
	u32 key = scattered(id, arrival_bits);
	struct arrival *arrival = map_lookup(&arrivals, &key);

	if (!arrival)
		return;
	arrival->at = ktime_get_ns();
	arrival->id = id;
}

/* When the bio arrived; 0 if that is not known. */
INLINE u64 arrival_of(struct bio *bio)
{
	u64 id = identity(bio);
	u32 key = scattered(id, arrival_bits);
	struct arrival *arrival = map_lookup(&arrivals, &key);

	if (!arrival || arrival->id != id)
		return 0;
	arrival->id = 0;
	return arrival->at;
}

#endif
