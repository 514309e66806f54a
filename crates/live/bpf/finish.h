/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * How a life ends: through the filters, into the histograms, into the ring.
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
	s32 status;
	u64 comm[2];
};

/* The same where more than that is asked for. */
struct full_record {
	struct record plain;
	struct more more;
	struct origin origin;
};

struct {
	NUMBER(type, MAP_RINGBUF);
	NUMBER(max_entries, 1 << 20);
} records SEC(".maps");

/* Whether there was room for it. */
INLINE int send(struct life *life, struct subject *is, u64 now, s32 status)
{
	struct full_record *full = 0;
	struct record *record;
	struct origin *origin;
	struct more *more;

	if (before || cgroups || files || stacks) {
		full = ringbuf_reserve(&records, sizeof(*full), 0);
		record = &full->plain;
	} else {
		record = ringbuf_reserve(&records, sizeof(*record), 0);
	}
	if (!record) {
		tally(is->row, is->op, RING_FULL);
		return 0;
	}
	record->completed = now;
	record->queued = life->queued;
	record->issued = life->issued;
	record->sector = life->sector;
	record->bytes = life->bytes;
	record->cmd_flags = life->cmd_flags;
	record->number = life->number;
	record->pid = life->pid;
	record->depth = life->depth;
	record->status = status;
	record->comm[0] = life->comm[0];
	record->comm[1] = life->comm[1];
	if (full) {
		more = more_of(is);
		full->more = more ? *more : (struct more){};
		origin = origin_of(is);
		full->origin = origin ? *origin : (struct origin){ .kernel_stack = -1, .user_stack = -1 };
	}
	ringbuf_submit(record, RB_NO_WAKEUP);
	return 1;
}

INLINE void measure(struct life *life, struct subject *is, u64 now)
{
	u32 row = is->row, op = is->op;
	struct more *more = more_of(is);
	u64 epoch = is->epoch;

	if (row >= rows) {
		tally(row, op, NO_ROW_LEFT);
		return;
	}
	if (life->queued && life->issued)
		count(row, op, QUEUE, epoch, life->issued - life->queued);
	if (life->issued)
		count(row, op, DEVICE, epoch, now - life->issued);
	if (life->queued)
		count(row, op, TOTAL, epoch, now - life->queued);
	if (before && more && more->arrived && life->queued)
		count(row, op, BEFORE, epoch, life->queued - more->arrived);
}

/* What is asked for but cannot be told of a request that was in flight before the tracer. */
INLINE int sender_missed(void)
{
	return pid_wanted || comm_wanted[0];
}

INLINE int passes(struct life *life)
{
	return !life->unwanted && life->bytes >= bytes_low && life->bytes <= bytes_high
	       && (life->cmd_flags & flags_set) == flags_set && !(life->cmd_flags & flags_clear);
}

/* Counts what has come to its end, and sends it if records are wanted. */
INLINE void finish(struct life *life, struct subject *is, s32 status)
{
	u64 now = ktime_get_ns(), latency;

	if (!passes(life)) {
		tally(is->row, is->op, FILTERED);
		return;
	}
	if (status)
		tally(is->row, is->op, FAILED);
	tally(is->row, is->op, MEASURED);
	if (!life->queued && is->op != FLUSH)
		tally(is->row, is->op, NO_TOTAL);
	latency = now - (life->queued ? life->queued : life->issued);
	if (over_ns && latency <= over_ns) {
		tally(is->row, is->op, TOO_FAST);
		if (!events)
			return;
	}
	/* Whoever takes a record from the ring can count it there for less. */
	if (events && (!over_ns || latency > over_ns) && send(life, is, now, status) && unsent_only)
		return;
	if (histograms)
		measure(life, is, now);
}

#endif
