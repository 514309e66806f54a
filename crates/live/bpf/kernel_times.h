/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One probe for all: a request at its completion, with the times that the kernel keeps in it. Nothing is
 * remembered in between, so there are no slots, and sender and depth are unknown.
 *
 * Since 6.9 (da4c8c3d0975) both times of a batch are those of its first request: Q2D is then 0 and counted as
 * D2C. After a requeue the kernel's issue is the last one, ours the first.
 */
#ifndef IOWHY_KERNEL_TIMES_H
#define IOWHY_KERNEL_TIMES_H

#include "finish.h"

struct request___times {
	u64 io_start_time_ns; /* 0: not issued, or the queue keeps no statistics */
	u16 stats_sectors;    /* as of the issue; set together with that */
} KERNEL_FIELDS;

/* Sector and bytes of the whole request, of which parts may have completed before: those of its issue. Their
 * number has 16 bits only, so that of a large discard is taken where it may be the same. */
INLINE void take_extent(struct tracked_request *seen, struct request *rq)
{
	struct request___times *times = (struct request___times *)rq;
	u32 left = rq->__data_len, all = 0;

	seen->sector = rq->__sector;
	seen->bytes = left;
	if (!seen->issued || !FIELD_EXISTS(times->stats_sectors))
		return;
	all = times->stats_sectors;
	if (LIKELY(all == (left >> 9 & 0xffff)))
		return;
	seen->bytes = all << 9;
	/* The data of a write with a flush after it are done, and its sector is valid. */
	if (left)
		seen->sector -= all - (left >> 9);
}

/* All that a request contains at its completion. */
INLINE void take_kernel_times(struct tracked_request *seen, struct subject *is, struct request *rq)
{
	struct request___times *times = (struct request___times *)rq;

	seen->issued = times->io_start_time_ns;
	/* Without that flag the field may hold the time of another request. */
	if (is->op != FLUSH && rq->rq_flags & io_stat_flag)
		seen->queued = rq->start_time_ns;
	/* Set together with the clock of a plug, which may lag a little. */
	if (seen->issued && seen->issued < seen->queued)
		seen->issued = seen->queued;
	take_extent(seen, rq);
}

INLINE int completed_alone(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	s32 status = (s32)arguments[1];
	struct tracked_request seen = {};
	struct subject is = {};
	u32 rq_flags;
	u64 now;

	is.epoch = epoch_now();
	if (!is.epoch)
		return 0;
	is.rq = rq;
	is.number = device_number(rq);
	seen.cmd_flags = rq->cmd_flags;
	if (!wanted(&is, seen.cmd_flags))
		return 0;
	rq_flags = rq->rq_flags;
	/* As in `complete`: the last byte counts, and of a write with a flush after it the end of both. */
	if ((u32)arguments[2] < rq->__data_len || (is.op != FLUSH && rq_flags & flush_seq_flag)
	    || ended_before(rq, is.op))
		return 0;
	now = ktime_get_ns();
	if (!is.device) {
		struct gendisk *disk = disk_of(rq);

		if (disk)
			note_name(disk, is.number);
	}
	is.id = identity(rq);
	if (is.op != FLUSH && !(rq_flags & io_stat_flag))
		tally(is.row, is.op, NOT_ACCOUNTED);
	take_kernel_times(&seen, &is, rq);
	if (cgroup_wanted)
		seen.unwanted = payer(&is) != cgroup_wanted;
	if (LIKELY(seen.queued || seen.issued) || !passes(&seen)) {
		finish(&seen, &is, status, now);
		return 0;
	}
	if (status)
		tally(is.row, is.op, FAILED);
	tally(is.row, is.op, NO_START);
	return 0;
}

SEC("tp_btf/block_rq_complete") int complete_alone(u64 *arguments)
{
	return completed_alone(arguments);
}

#endif
