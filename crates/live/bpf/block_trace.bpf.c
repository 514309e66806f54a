// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The life of every block request: start, issue, completion; as single records or as histograms.
 *
 * What a request did so far is kept in a slot keyed by its address. Everything is counted at the
 * one place where the kernel counts it too, its last block_rq_complete, so that
 *     measured + lost = the difference of /proc/diskstats.
 */
#include "tables.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What a probe needs to know of its request. */
struct subject {
	u32 op;
	u32 number; /* of the device; 0: none */
	u32 place;  /* in the device table */
	u32 row;
	struct device *device; /* NULL: not in the table */
	u64 id;
	u64 epoch;
	struct set *set;
	u32 way; /* WAYS: it has no slot */
};

/* Whether the request is to be followed: the watch is on, its device and operation are wanted. */
INLINE int wanted(struct request *rq, struct subject *is)
{
	u32 first = 0;
	u64 *epoch = map_lookup(&epochs, &first);

	if (!epoch || !*epoch)
		return 0;
	is->epoch = *epoch;
	is->op = op_of(rq->cmd_flags);
	if (!(ops_wanted >> is->op & 1))
		return 0;
	is->number = device_number(rq);
	if (!is->number)
		return 0;
	is->device = find_device(is->number, &is->place);
	if (!is->device && !every_device)
		return 0;
	is->row = is->device ? is->device->row : NO_ROW;
	is->id = identity(rq);
	is->set = set_of(is->id);
	if (!is->set)
		return 0;
	is->way = way_of(is->set, is->id);
	return 1;
}

INLINE struct request *request_of(u64 *arguments)
{
	if (rq_argument)
		return (struct request *)arguments[1];
	return (struct request *)arguments[0];
}

INLINE void begin_life(struct life *life, struct request *rq, u32 number)
{
	life->issued = 0;
	life->sector = rq->__sector;
	life->bytes = rq->__data_len;
	life->cmd_flags = rq->cmd_flags;
	life->number = number;
	life->depth = 0;
	life->given_back = 0;
	life->on_device = 0;
	if (events) {
		life->pid = current_pid_tgid() >> 32;
		current_comm(life->comm, sizeof(life->comm));
	}
}

SEC("tp_btf/block_io_start") int start(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	struct device *owner;
	struct subject is;
	struct life *life;
	u32 place;

	if (!wanted(rq, &is))
		return 0;
	if (is.way < WAYS) {
		life = &is.set->lives[is.way];
		/* A request cannot start twice: the end of the one before escaped us. Disks of one
		 * controller share requests, so it may have been another disk's. */
		owner = find_device(life->number, &place);
		tally(owner ? owner->row : NO_ROW, op_of(life->cmd_flags), NO_COMPLETION);
		leave_device(life);
	} else {
		is.way = free_way(is.set);
		if (is.way >= WAYS)
			return 0;
		life = &is.set->lives[is.way];
	}
	begin_life(life, rq, is.number);
	life->queued = ktime_get_ns();
	is.set->ids[is.way] = is.id;
	return 0;
}

SEC("tp_btf/block_rq_issue") int issue(u64 *arguments)
{
	struct request *rq = request_of(arguments);
	struct subject is;
	struct life *life;

	if (!wanted(rq, &is))
		return 0;
	if (is.way >= WAYS) {
		is.way = free_way(is.set);
		if (is.way >= WAYS) {
			tally(is.row, is.op, NO_SLOT);
			return 0;
		}
		life = &is.set->lives[is.way];
		begin_life(life, rq, is.number);
		life->queued = start_in_rq && is.op != FLUSH ? rq->start_time_ns : 0;
		is.set->ids[is.way] = is.id;
	}
	life = &is.set->lives[is.way];
	if (is.op == FLUSH && life->issued && !life->given_back) {
		/* The kernel's own flush request never starts, it is only issued anew: the end of the
		 * one before escaped us. */
		tally(is.row, FLUSH, NO_COMPLETION);
		leave_device(life);
		begin_life(life, rq, is.number);
	}
	life->given_back = 0;
	if (events)
		enter_device(life, is.device, is.place);
	/* After a requeue the first issue stands: the time since then was spent on the device or
	 * waiting for it to take the request back. */
	if (!life->issued) {
		/* Merges may have grown the request since its start. */
		life->sector = rq->__sector;
		life->bytes = rq->__data_len;
		life->issued = ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/block_rq_requeue") int requeue(u64 *arguments)
{
	struct subject is;

	if (!wanted(request_of(arguments), &is))
		return 0;
	tally(is.row, is.op, REQUEUED);
	if (is.way < WAYS) {
		is.set->lives[is.way].given_back = 1;
		leave_device(&is.set->lives[is.way]);
	}
	return 0;
}

/* The request was absorbed by another before its issue: it ends here, uncounted by all. */
SEC("tp_btf/block_rq_merge") int merge(u64 *arguments)
{
	struct request *rq = request_of(arguments);
	u64 id = identity(rq);
	struct set *set = set_of(id);
	u32 way;

	if (!set)
		return 0;
	way = way_of(set, id);
	if (way < WAYS)
		set->ids[way] = 0;
	return 0;
}

/* ---- completion ---- */

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
	char comm[16];
};

struct {
	NUMBER(type, MAP_RINGBUF);
	NUMBER(max_entries, 1 << 20);
} records SEC(".maps");

INLINE void send(struct life *life, u64 now, s32 status, u32 row, u32 op)
{
	u64 latency = now - (life->queued ? life->queued : life->issued);
	struct record *record;

	if (over_ns && latency <= over_ns) {
		tally(row, op, TOO_FAST);
		return;
	}
	record = ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		tally(row, op, RING_FULL);
		return;
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
	__builtin_memcpy(record->comm, life->comm, sizeof(record->comm));
	ringbuf_submit(record, RB_NO_WAKEUP);
}

INLINE void measure(struct life *life, u64 now, u64 epoch, u32 row, u32 op)
{
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
}

/*
 * A request ends where the kernel counts it: at the last completion of its last byte.
 *
 * A write that asks for cache flushes (FUA, PREFLUSH) completes once when its data are written,
 * with RQF_FLUSH_SEQ set, and again when the flush behind it is through: only the second counts.
 * The flush itself is a request of the kernel's own, counted apart. An empty flush is never
 * issued: it has Q2C only.
 */
SEC("tp_btf/block_rq_complete") int complete(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	s32 status = (s32)arguments[1];
	u32 bytes_now = (u32)arguments[2];
	struct life *life, unseen = {};
	struct subject is;
	u64 now;

	if (!wanted(rq, &is) || bytes_now < rq->__data_len)
		return 0;
	if (is.op != FLUSH && rq->rq_flags & flush_seq_flag) {
		if (is.way < WAYS)
			leave_device(&is.set->lives[is.way]);
		return 0;
	}
	now = ktime_get_ns();
	if (is.op != FLUSH && !(rq->rq_flags & io_stat_flag))
		tally(is.row, is.op, NOT_ACCOUNTED);
	if (status)
		tally(is.row, is.op, FAILED);
	if (is.way < WAYS) {
		life = &is.set->lives[is.way];
	} else {
		life = &unseen;
		life->sector = rq->__sector;
		life->bytes = rq->__data_len;
		life->cmd_flags = rq->cmd_flags;
		life->number = is.number;
		life->queued = start_in_rq && is.op != FLUSH ? rq->start_time_ns : 0;
	}
	if (!life->queued && !life->issued) {
		tally(is.row, is.op, NO_START);
	} else {
		tally(is.row, is.op, MEASURED);
		if (!life->queued && is.op != FLUSH)
			tally(is.row, is.op, NO_TOTAL);
		if (histograms)
			measure(life, now, is.epoch, is.row, is.op);
		if (events)
			send(life, now, status, is.row, is.op);
	}
	if (is.way < WAYS) {
		leave_device(life);
		is.set->ids[is.way] = 0;
	}
	return 0;
}
