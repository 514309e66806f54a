/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * How a request ends: through the filters, into the histograms, into the ring.
 */
#ifndef IOWHY_FINISH_H
#define IOWHY_FINISH_H

#include "subject.h"

struct record {
	u64 completed;
	u64 queued;
	u64 issued;
	u64 sector;
	u32 bytes;
	u32 cmd_flags;
	u32 number;
	u32 pid;
	u32 depth;
	short status;
	u16 weight; /* 0: every request has its record; else how many it represents */
	u64 comm[2];
};

/* The same with requested extras. */
struct more_record {
	struct record plain;
	u64 arrived; /* 0: not seen, or not requested */
	u64 cgroup;  /* 0: none, or not requested */
};

struct full_record {
	struct more_record more;
	struct origin origin;
	u32 cpu;   /* of the completion */
	u32 queue; /* plus one; 0: none */
};

/* src/ring_records.rs has the same sizes: records are distinguished by them. */
_Static_assert(sizeof(struct record) == 72, "not as in src/ring_records.rs");
_Static_assert(sizeof(struct more_record) == 88, "not as in src/ring_records.rs");
_Static_assert(sizeof(struct full_record) == 120, "not as in src/ring_records.rs");

/* include/linux/blk-mq.h */
struct blk_mq_hw_ctx {
	u32 queue_num;
} KERNEL_FIELDS;

struct request___queued {
	struct blk_mq_hw_ctx *mq_hctx;
} KERNEL_FIELDS;

/* The hardware queue of a request, plus one; 0: it has none. */
INLINE u32 queue_of(struct subject *is)
{
	u64 hctx = 0;
	u32 queue = 0;

	if (!is->rq)
		return 0;
	read_kernel(&hctx, sizeof(hctx), &((struct request___queued *)is->rq)->mq_hctx);
	if (!hctx)
		return 0;
	read_kernel(&queue, sizeof(queue), &((struct blk_mq_hw_ctx *)hctx)->queue_num);
	return queue + 1;
}

struct {
	NUMBER(type, MAP_RINGBUF);
	NUMBER(max_entries, 1 << 20);
} records SEC(".maps");

/* How records of a device and operation are thinned while it does more than is worth telling one by one. */
struct thinning {
	u64 slow_ns; /* from here on every request has its record */
	u32 share;   /* of 2^32: of the others, those in the sample */
	u32 weight;  /* how many each of them represents, below 256; 0: nothing is sampled */
};

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct thinning);
} thinnings SEC(".maps");

enum { ALL_ARE_SENT = 0, LEAVE_OUT = -1 };

/* The weight of a record, or that there is to be none. The sample is chosen by a hash of the
 * time, whose last digits no load can follow. */
INLINE s32 weight_of(struct subject *is, u64 now, u64 latency, s32 status)
{
	u32 key = is->row * OPS + is->op;
	struct thinning *thinning;

	/* What is left out must be counted. */
	if (!thinned || is->row >= histogram_rows)
		return ALL_ARE_SENT;
	thinning = map_lookup(&thinnings, &key);
	if (!thinning || !thinning->weight)
		return ALL_ARE_SENT;
	if (status || latency >= thinning->slow_ns)
		return 1;
	if ((u32)((now ^ is->id) * 0x9e3779b97f4a7c15ULL >> 32) < thinning->share)
		return thinning->weight & 0xff;
	return LEAVE_OUT;
}

/* Whether there was room for it. */
INLINE int send(struct tracked_request *tracked, struct subject *is, u64 now, s32 status, s32 weight)
{
	struct full_record *full = 0;
	struct more_record *more = 0;
	struct record *record;
	struct origin *origin;

	if (files || stacks || places) {
		full = ringbuf_reserve(&records, sizeof(*full), 0);
		more = &full->more;
		record = &more->plain;
	} else if (before || cgroups) {
		more = ringbuf_reserve(&records, sizeof(*more), 0);
		record = &more->plain;
	} else {
		record = ringbuf_reserve(&records, sizeof(*record), 0);
	}
	if (!record) {
		tally(is->row, is->op, RING_FULL);
		return 0;
	}
	record->completed = now;
	record->queued = tracked->queued;
	record->issued = tracked->issued;
	record->sector = tracked->sector;
	record->bytes = tracked->bytes;
	record->cmd_flags = tracked->cmd_flags;
	record->number = is->number;
	record->pid = tracked->pid;
	record->depth = tracked->depth;
	record->status = (short)status;
	record->weight = (u16)weight;
	record->comm[0] = tracked->comm[0];
	record->comm[1] = tracked->comm[1];
	if (more) {
		more->arrived = tracked->waited ? tracked->queued - lengthened(tracked->waited) : 0;
		more->cgroup = cgroups ? payer(is) : 0;
		if (cgroups && asks_flush && is->op == FLUSH && !more->cgroup) {
			struct asker *asker = map_lookup(&askers, &is->number);

			more->cgroup = asker ? asker->cgroup : 0;
		}
	}
	if (full) {
		origin = origin_of(is);
		full->origin = origin ? *origin : (struct origin){ .kernel_stack = -1, .user_stack = -1 };
		full->cpu = places ? smp_processor_id() : 0;
		full->queue = places ? queue_of(is) : 0;
	}
	ringbuf_submit(record, RB_NO_WAKEUP);
	return 1;
}

INLINE void measure(struct tracked_request *tracked, struct subject *is, u64 now)
{
	u32 row = is->row, op = is->op;
	u64 epoch = is->epoch;

	if (row >= histogram_rows) {
		tally(row, op, NO_ROW_LEFT);
		return;
	}
	if (tracked->queued && tracked->issued)
		count(row, op, QUEUE, epoch, tracked->issued - tracked->queued);
	if (tracked->issued)
		count(row, op, DEVICE, epoch, now - tracked->issued);
	if (tracked->queued)
		count(row, op, TOTAL, epoch, now - tracked->queued);
	if (before && tracked->waited)
		count(row, op, BEFORE, epoch, lengthened(tracked->waited));
}

/* What is requested but unknown of a request that was in flight before the tracer. */
INLINE int sender_missed(void)
{
	return pid_wanted || comm_wanted[0];
}

INLINE int passes(struct tracked_request *tracked)
{
	if (!filtering && !by_who)
		return 1;
	return !tracked->unwanted && tracked->bytes >= bytes_low && tracked->bytes <= bytes_high
	       && tracked->sector >= sector_first && tracked->sector <= sector_last
	       && (tracked->cmd_flags & flags_set) == flags_set && !(tracked->cmd_flags & flags_clear);
}

/* Counts what came to its end `now`, and sends it if records are wanted. */
INLINE void finish(struct tracked_request *tracked, struct subject *is, s32 status, u64 now)
{
	s32 weight = ALL_ARE_SENT;
	u64 latency;

	if (!passes(tracked)) {
		tally(is->row, is->op, FILTERED);
		return;
	}
	if (status)
		tally(is->row, is->op, FAILED);
	tally(is->row, is->op, MEASURED);
	if (!tracked->queued && is->op != FLUSH)
		tally(is->row, is->op, NO_TOTAL);
	latency = now - (tracked->queued ? tracked->queued : tracked->issued);
	if (over_ns && latency <= over_ns) {
		tally(is->row, is->op, TOO_FAST);
		if (!events)
			return;
	}
	if (events)
		weight = weight_of(is, now, latency, status);
	if (weight == LEAVE_OUT)
		tally(is->row, is->op, LEFT_OUT);
	/* Whoever takes a record from the ring can count it there for less. */
	else if (events && (!over_ns || latency > over_ns)
		 && send(tracked, is, now, status, weight) && unsent_only)
		return;
	if (histograms)
		measure(tracked, is, now);
}

#endif
