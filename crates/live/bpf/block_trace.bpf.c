// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The life of every block request: start, issue, completion; as single records or as histograms.
 * Of devices that make no requests (dm, md, zram), the life of every bio: arrival and completion.
 *
 * What a request did so far is kept in a slot keyed by its address. Everything is counted at the
 * one place where the kernel counts it too, its last block_rq_complete, so that
 *     measured + lost = the difference of /proc/diskstats.
 */
#include "origin.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/block_io_start") int start(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	struct subject is;
	struct life *life;
	u64 arrived;

	if (!request_wanted(rq, &is, SENDING))
		return 0;
	if (!LIKELY(is.way < WAYS))
		is.way = take_way(is.set, is.id);
	if (is.way >= WAYS)
		return 0;
	begin_request(&is, rq, BY_START);
	note_origin(&is, arguments, rq->bio);
	life = &is.set->lives[is.way];
	arrived = before ? arrival_of(rq->bio) : 0;
	if (start_by_kernel(&is)) {
		life->queued = BY_KERNEL | (arrived ? ARRIVAL | arrived : about_now());
		return 0;
	}
	life->queued = ktime_get_ns();
	if (arrived)
		life->waited = shortened(life->queued - arrived);
	return 0;
}

/* Whether a request that is issued has begun its life. Where its start came before the tracer, what is in its
 * slot is over; and the kernel's own flush request never starts, it is only issued anew. */
INLINE int has_begun(struct subject *is)
{
	struct life *life = &is->set->lives[is->way & (WAYS - 1)];

	if (is->way >= WAYS)
		return 0;
	if (!life->issued)
		return 1;
	return !is_over(is->set, is->way) && (is->op != FLUSH || life->given_back);
}

SEC("tp_btf/block_rq_issue") int issue(u64 *arguments)
{
	struct request *rq = request_of(arguments);
	struct subject is;
	struct life *life;
	u64 arrived, now;

	if (!request_wanted(rq, &is, SENDING))
		return 0;
	/* Before anything is written: see `begin_life`. */
	now = ktime_get_ns();
	if (!LIKELY(has_begun(&is))) {
		if (is.way >= WAYS)
			is.way = take_way(is.set, is.id);
		if (is.way >= WAYS) {
			tally(is.row, is.op, NO_SLOT);
			return 0;
		}
		begin_request(&is, rq, BY_ISSUE);
		note_origin(&is, arguments, rq->bio);
		life = &is.set->lives[is.way];
		life->queued = start_in_rq && is.op != FLUSH ? rq->start_time_ns : 0;
		arrived = before && life->queued ? arrival_of(rq->bio) : 0;
		if (arrived)
			life->waited = shortened(life->queued - arrived);
	}
	life = &is.set->lives[is.way];
	if (life->queued & BY_KERNEL)
		take_start(&is, life, rq);
	else if (is.device && !is.device->keeps_starts && rq->rq_flags & io_stat_flag)
		is.device->keeps_starts = 1;
	life->given_back = 0;
	/* After a requeue the first issue stands: the time since then was spent on the device or
	 * waiting for it to take the request back. */
	if (!life->issued) {
		/* Merges may have grown the request since its start. */
		life->sector = rq->__sector;
		life->bytes = rq->__data_len;
		/* The kernel's clock and ours are one, but ours may be read while it is set on, a little behind. */
		life->issued = now > life->queued ? now : life->queued;
	}
	if (events)
		enter_device(is.set, is.way, is.device, is.place, BY_ISSUE, now);
	return 0;
}

SEC("tp_btf/block_rq_requeue") int requeue(u64 *arguments)
{
	struct subject is;
	struct life *life;

	if (!request_wanted(request_of(arguments), &is, COMPLETING))
		return 0;
	tally(is.row, is.op, REQUEUED);
	if (is.way < WAYS && !is_over(is.set, is.way)) {
		life = &is.set->lives[is.way];
		life->given_back = 1;
		life->on_device = 0;
		leave_device(is.set, is.way, is.place, BY_REQUEUE, 0);
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
	way = way_among(set->ids, id);
	if (way < WAYS && !is_over(set, way))
		end_lives(set, way, 1);
	return 0;
}

/* ---- completion ---- */

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
	struct life *life, unseen;
	struct subject is;
	u64 now;

	if (!request_wanted(rq, &is, COMPLETING) || bytes_now < rq->__data_len)
		return 0;
	now = ktime_get_ns();
	if (is.way < WAYS && is_over(is.set, is.way))
		is.way = WAYS;
	if (is.op != FLUSH && rq->rq_flags & flush_seq_flag) {
		if (is.way < WAYS) {
			is.set->lives[is.way].on_device = 0;
			leave_device(is.set, is.way, is.place, BY_COMPLETION, 0);
		}
		return 0;
	}
	if (is.op != FLUSH && !(rq->rq_flags & io_stat_flag))
		tally(is.row, is.op, NOT_ACCOUNTED);
	is.bio = rq->bio;
	if (is.way < WAYS) {
		life = &is.set->lives[is.way];
		if (life->queued & BY_KERNEL) /* never issued */
			take_start(&is, life, rq);
	} else {
		unseen = (struct life){};
		life = &unseen;
		life->sector = rq->__sector;
		life->bytes = rq->__data_len;
		life->cmd_flags = rq->cmd_flags;
		life->unwanted = cgroup_wanted && payer(rq->bio) != cgroup_wanted;
		life->queued = start_in_rq && is.op != FLUSH ? rq->start_time_ns : 0;
	}
	if (is.way >= WAYS && passes(life) && sender_missed()) {
		tally(is.row, is.op, NO_SENDER);
	} else if (!life->queued && !life->issued && passes(life)) {
		if (status)
			tally(is.row, is.op, FAILED);
		tally(is.row, is.op, NO_START);
	} else {
		finish(life, &is, status, now);
	}
	if (is.way < WAYS) {
		leave_device(is.set, is.way, is.place, BY_COMPLETION, now);
		end_lives(is.set, is.way, 1);
	}
	return 0;
}

/* ---- bios ---- */

/* A bio arrives: for a device that makes no requests its life begins, else it is remembered for
 * its request. What was split off or sent anew is announced once. */
SEC("tp_btf/block_bio_queue") int arrive(u64 *arguments)
{
	struct bio *bio = bio_argument ? second(arguments) : (struct bio *)arguments[0];
	struct subject is;
	struct life *life;

	is.epoch = epoch_now();
	if (!is.epoch)
		return 0;
	is.number = device_of_bio(bio);
	if (!wanted(&is, bio->bi_opf))
		return 0;
	if (!is.device || !is.device->without_requests) {
		if (before)
			remember_arrival(bio);
		return 0;
	}
	if (!find_slot(&is, bio, SENDING))
		return 0;
	if (is.way >= WAYS)
		is.way = take_way(is.set, is.id);
	if (is.way >= WAYS) {
		tally(is.row, is.op, NO_SLOT);
		return 0;
	}
	life = &is.set->lives[is.way];
	begin_life(&is, bio->bi_opf, bio, BY_BIO);
	note_origin(&is, arguments, bio);
	life->sector = bio->bi_iter.bi_sector;
	life->bytes = bio->bi_iter.bi_size;
	life->queued = ktime_get_ns();
	if (events)
		enter_device(is.set, is.way, is.device, is.place, BY_BIO, life->queued);
	return 0;
}

/* The drivers of such devices change a bio while they work on it, so all but its status is told by
 * its beginning. */
SEC("tp_btf/block_bio_complete") int end_bio(u64 *arguments)
{
	struct bio *bio = (struct bio *)arguments[1];
	struct subject is;
	struct life *life;
	u64 now;

	is.epoch = epoch_now();
	if (!is.epoch || !find_slot(&is, bio, COMPLETING))
		return 0;
	if (is.way >= WAYS || is_over(is.set, is.way)) {
		is.number = device_of_bio(bio);
		if (wanted(&is, bio->bi_opf) && is.device && is.device->without_requests)
			tally(is.row, is.op, NO_START);
		return 0;
	}
	life = &is.set->lives[is.way];
	is.op = op_of(life->cmd_flags);
	is.number = number_of_kind(is.set->begins[is.way].kind);
	is.bio = bio;
	is.device = find_device(is.number, &is.place);
	is.row = is.device ? is.device->row : NO_ROW;
	now = ktime_get_ns();
	finish(life, &is, bio->bi_status, now);
	leave_device(is.set, is.way, is.place, BY_BIO_END, now);
	end_lives(is.set, is.way, 1);
	return 0;
}
