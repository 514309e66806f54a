/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What is known of requests and bios on their way, keyed by their addresses.
 */
#ifndef IOWHY_SLOTS_H
#define IOWHY_SLOTS_H

#include "tables.h"

/* ---- slots: what is known of a request in flight ---- */

#define WAYS 4

/* Marks of `queued`, see `start_by_kernel` of subject.h. */
#define BY_KERNEL (1ULL << 63)
#define ARRIVAL (1ULL << 62) /* and that moment is the arrival of its bio */

/* One line of the cache. */
struct tracked_request {
	u64 queued; /* 0: not seen; see `start_by_kernel` */
	u64 issued; /* the first issue; 0: not yet */
	u64 sector;
	u32 bytes;
	u32 cmd_flags;
	u32 waited; /* from the arrival of the bio to the start, as from `shortened` */
	u16 begun;  /* as in `struct begins` */
	u16 entered;
	u32 pid;
	u32 depth : 29;
	u32 on_device : 1;
	u32 given_back : 1; /* requeued, and not issued again yet */
	u32 unwanted : 1;   /* its process or control group is not selected */
	u64 comm[2];
};

/* A device and an operation in one number: a major is less than 512 (__register_blkdev of
 * block/genhd.c), so the uppermost three bits of a device's are free. */
#define KIND_BITS 29

INLINE u32 kind_of(u32 number, u32 op)
{
	return number ^ op << KIND_BITS;
}

INLINE u32 number_of_kind(u32 kind)
{
	return kind & ((1U << KIND_BITS) - 1);
}

/* How many requests began in a slot, how often they went to the device, and of what kind the last is; how
 * many were seen to end, how often they were seen to leave the device. What is missing there goes on,
 * or escaped us. The numbers go round: see `begin_tracking`. */
struct begins {
	u32 kind; /* as from `kind_of` */
	u16 begun;
	u16 entered;
};

struct ends {
	u16 ended;
	u16 left;
};

/* One CPU sends requests and another completes them. Reading a cache line that the other wrote last,
 * or that was only read since, takes half the time of a probe; one evicted by other data, a fifth. So
 * each side finds all it needs, before it looks at a request, in one line of its own; an identity
 * stays after its request; and a request is one line, written by the sender without reading it, read
 * at completion. Lines come in pairs where the processor fetches the second with the first, so those
 * two are no pair. */
struct set {
	u64 ids[WAYS]; /* of the sender */
	struct begins begins[WAYS];
	u64 unused[8];
	u64 ending_ids[WAYS]; /* the same for the completion */
	struct ends ends[WAYS];
	u64 unused_either[10];
	struct tracked_request requests[WAYS];
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
INLINE u32 scattered(u64 id, u32 shift)
{
	return (u32)(((id >> 6) * 0x9e3779b97f4a7c15ULL) >> shift);
}

INLINE struct set *set_of(u64 id)
{
	u32 key = scattered(id, set_shift);

	return map_lookup(&slots, &key);
}

INLINE u32 way_among(u64 *ids, u64 id)
{
	if (LIKELY(ids[0] == id)) return 0;
	if (ids[1] == id) return 1;
	if (ids[2] == id) return 2;
	if (ids[3] == id) return 3;
	return WAYS;
}

INLINE int is_over(struct set *set, u32 way)
{
	return set->ends[way & (WAYS - 1)].ended == set->requests[way & (WAYS - 1)].begun;
}

/* Gives `id` a way without a request in flight; WAYS if there is none. CPUs begin at different ones, so
 * that two rarely choose the same; if they do, the last one has it. */
INLINE u32 take_way(struct set *set, u64 id)
{
	u32 first = smp_processor_id();

#pragma unroll
	for (u32 more = 0; more < WAYS; more++) {
		u32 way = (first + more) & (WAYS - 1);

		if (is_over(set, way)) {
			set->begins[way] = (struct begins){};
			set->ends[way] = (struct ends){};
			set->requests[way].begun = 0;
			set->requests[way].entered = 0;
			set->ids[way] = id;
			set->ending_ids[way] = id;
			return way;
		}
	}
	return WAYS;
}

/* ---- in flight: what each device is busy with ---- */

/* How often requests and bios went to a device, less how often they left it, by CPU. A probe may interrupt
 * another, so each has a number of its own.
 *
 * A CPU that asks for the number in flight would take the line of the cache that another writes at each of its
 * completions. So a CPU with much to do shows its sum in a second line, which stays, at each `SHOWN_EVERY`th
 * crossing. While that is young it is taken for the sum: it is then off by fewer than `SHOWN_EVERY`. */
struct crossings {
	u64 n[6];
	u64 unshown; /* crossings since the sum was shown */
	u64 unused;
	u64 sum;
	u64 shown_at;
	u64 unused_either[6];
};

#define SHOWN_EVERY 4
#define SHOWN_FOR 50000 /* ns */

enum crossing { BY_START, BY_ISSUE, BY_REQUEUE, BY_COMPLETION, BY_BIO, BY_BIO_END };

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(map_flags, ON_PAGES);
	NUMBER(max_entries, 64);
	TYPE(key, u32);
	TYPE(value, struct crossings);
} crossed SEC(".maps");

INLINE u64 sum_of(struct crossings *crossings)
{
	u64 sum = 0;

#pragma unroll
	for (u32 by = BY_START; by <= BY_BIO_END; by++)
		sum += crossings->n[by];
	return sum;
}

/* `now` is 0 where the clock was not read. */
INLINE void cross(u32 place, enum crossing by, u64 more, u64 now)
{
	u32 key = place * cells + (smp_processor_id() & (cells - 1));
	struct crossings *crossings = map_lookup(&crossed, &key);

	if (!crossings)
		return;
	if (own_cells)
		crossings->n[by] += more;
	else
		__sync_fetch_and_add(&crossings->n[by], more);
	crossings->unshown += 1;
	if (now && crossings->unshown >= SHOWN_EVERY) {
		crossings->unshown = 0;
		crossings->sum = sum_of(crossings);
		crossings->shown_at = now;
	}
}

/* How many requests or bios a device has, the one that asks among them. */
INLINE u64 in_flight(u32 place, u64 now)
{
	u32 own = smp_processor_id() & (cells - 1);
	u64 sum = 0;

#pragma clang loop unroll(disable)
	for (u32 cell = 0; cell < cells; cell++) {
		u32 key = place * cells + cell;
		struct crossings *crossings = map_lookup(&crossed, &key);

		if (!crossings)
			return sum;
		/* A time just before this one makes a large number. */
		if (cell != own && now - crossings->shown_at + SHOWN_FOR < 2 * SHOWN_FOR)
			sum += crossings->sum;
		else
			sum += sum_of(crossings);
	}
	/* Others come and go while they are added up. */
	return (long long)sum > 0 ? sum : 1;
}

INLINE void enter_device(struct set *set, u32 way, struct device *device, u32 place, enum crossing by,
			 u64 now)
{
	struct tracked_request *tracked = &set->requests[way & (WAYS - 1)];
	struct begins *begins = &set->begins[way & (WAYS - 1)];

	if (!device || tracked->on_device)
		return;
	tracked->on_device = 1;
	begins->entered += 1;
	tracked->entered = begins->entered;
	cross(place, by, 1, now);
	tracked->depth = in_flight(place, now);
}

/* Whatever entered the device, at `place` in its table, from this slot is there no more. */
INLINE void leave_device(struct set *set, u32 way, u32 place, enum crossing by, u64 now)
{
	struct tracked_request *tracked = &set->requests[way & (WAYS - 1)];
	struct ends *ends = &set->ends[way & (WAYS - 1)];
	u16 more = tracked->entered - ends->left;

	if (!more)
		return;
	ends->left = tracked->entered;
	cross(place, by, -(u64)more, now);
}

/* The requests of a slot are over: `seen` of them, the last, was seen to end, and those before it that
 * were not are counted. They were of its device and operation: `begin_tracking` sees to that. */
INLINE void end_tracking(struct set *set, u32 way, u32 seen)
{
	struct tracked_request *tracked = &set->requests[way & (WAYS - 1)];
	struct ends *ends = &set->ends[way & (WAYS - 1)];
	u16 unseen = tracked->begun - ends->ended - seen;
	struct device *owner;
	u32 place, kind;

	ends->ended = tracked->begun;
	if (!unseen)
		return;
	kind = set->begins[way & (WAYS - 1)].kind;
	owner = find_device(number_of_kind(kind), &place);
	/* Between its turns the exact tracer sees no request end; bios are followed throughout. */
	if (by_turns && !(owner && owner->without_requests))
		return;
	tally_more(owner ? owner->row : NO_ROW, kind >> KIND_BITS, NO_COMPLETION, unseen);
}

/* Settles the ends that escaped us in a slot, as of the kind of its last request. */
INLINE void settle(struct set *set, u32 way, enum crossing by)
{
	u32 place;

	end_tracking(set, way, 0);
	if (find_device(number_of_kind(set->begins[way & (WAYS - 1)].kind), &place))
		leave_device(set, way, place, by, 0);
}

/* ---- origins: files and stacks, next to the slots, if requested ---- */

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

/* ---- waits of any length in half a word: below 2 s to the nanosecond, above to 1024 of them; 0 is none ---- */

#define LONG_WAIT 0x80000000U
#define LONG_WAIT_BITS 10

INLINE u32 shortened(u64 ns)
{
	if (ns < LONG_WAIT)
		return ns ? (u32)ns : 1;
	ns >>= LONG_WAIT_BITS;
	return LONG_WAIT | (ns < LONG_WAIT ? (u32)ns : LONG_WAIT - 1);
}

INLINE u64 lengthened(u32 wait)
{
	return wait & LONG_WAIT ? (u64)(wait - LONG_WAIT) << LONG_WAIT_BITS : wait;
}

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
	u32 key = scattered(id, arrival_shift);
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
	u32 key = scattered(id, arrival_shift);
	struct arrival *arrival = map_lookup(&arrivals, &key);

	if (!arrival || arrival->id != id)
		return 0;
	arrival->id = 0;
	return arrival->at;
}

#endif
