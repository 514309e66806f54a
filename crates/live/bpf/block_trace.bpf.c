// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Every block request: start, issue, completion; as single records or as histograms.
 * Of devices that make no requests (dm, md, zram), every bio: arrival and completion.
 *
 * What a request did so far is kept in a slot keyed by its address. Everything is counted at the
 * one place where the kernel counts it too, its last block_rq_complete, so that
 *     measured + lost = the difference of /proc/diskstats.
 */
#include "kernel_times.h"
#include "origin.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/block_io_start") int start(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	struct subject is;
	struct tracked_request *tracked;
	u64 arrived;

	if (asks_flush)
		note_asker(rq, &is);
	if (!request_wanted(rq, &is, SENDING))
		return 0;
	if (!LIKELY(is.way < WAYS))
		is.way = take_way(is.set, is.id);
	if (is.way >= WAYS)
		return 0;
	begin_request(&is, rq, BY_START);
	note_origin(&is, arguments);
	tracked = &is.set->requests[is.way];
	arrived = before ? arrival_of(rq->bio) : 0;
	if (start_by_kernel(&is)) {
		tracked->queued = BY_KERNEL | (arrived ? ARRIVAL | arrived : about_now());
		return 0;
	}
	tracked->queued = ktime_get_ns();
	if (arrived)
		tracked->waited = shortened(tracked->queued - arrived);
	return 0;
}

/* Whether a request that is issued was seen to begin. Where its start came before the tracer, what is in its
 * slot is over; and the kernel's own flush request never starts, it is only issued anew. */
INLINE int has_begun(struct subject *is)
{
	struct tracked_request *tracked = &is->set->requests[is->way & (WAYS - 1)];

	if (is->way >= WAYS)
		return 0;
	if (!tracked->issued)
		return 1;
	return !is_over(is->set, is->way) && (is->op != FLUSH || tracked->given_back);
}

SEC("tp_btf/block_rq_issue") int issue(u64 *arguments)
{
	struct request *rq = request_of(arguments);
	struct subject is;
	struct tracked_request *tracked;
	u64 arrived, now;

	if (!request_wanted(rq, &is, SENDING))
		return 0;
	/* Before anything is written: see `begin_tracking`. */
	now = ktime_get_ns();
	if (!LIKELY(has_begun(&is))) {
		if (is.way >= WAYS)
			is.way = take_way(is.set, is.id);
		if (is.way >= WAYS) {
			tally(is.row, is.op, NO_SLOT);
			return 0;
		}
		begin_request(&is, rq, BY_ISSUE);
		note_origin(&is, arguments);
		if (asks_flush && is.op == FLUSH)
			take_asker(&is);
		tracked = &is.set->requests[is.way];
		tracked->queued = start_in_rq && is.op != FLUSH ? rq->start_time_ns : 0;
		if (by_turns && is.op != FLUSH && rq->rq_flags & io_stat_flag)
			tracked->queued = rq->start_time_ns;
		arrived = before && tracked->queued ? arrival_of(rq->bio) : 0;
		if (arrived)
			tracked->waited = shortened(tracked->queued - arrived);
	}
	tracked = &is.set->requests[is.way];
	if (tracked->queued & BY_KERNEL)
		take_start(&is, tracked, rq);
	else if (is.device && !is.device->keeps_starts && rq->rq_flags & io_stat_flag)
		is.device->keeps_starts = 1;
	tracked->given_back = 0;
	/* After a requeue the first issue counts: the time since then was spent on the device or
	 * waiting for it to take the request back. */
	if (!tracked->issued) {
		/* Merges may have grown the request since its start. */
		tracked->sector = rq->__sector;
		tracked->bytes = rq->__data_len;
		/* It is the same clock, but read here while it is advanced it may lag a little. */
		tracked->issued = now > tracked->queued ? now : tracked->queued;
	}
	/* Who left between the turns is not known, nor how many are there. */
	if (events && !by_turns)
		enter_device(is.set, is.way, is.device, is.place, BY_ISSUE, now);
	return 0;
}

SEC("tp_btf/block_rq_requeue") int requeue(u64 *arguments)
{
	struct subject is;
	struct tracked_request *tracked;

	if (!request_wanted(request_of(arguments), &is, COMPLETING))
		return 0;
	tally(is.row, is.op, REQUEUED);
	if (is.way < WAYS && !is_over(is.set, is.way)) {
		tracked = &is.set->requests[is.way];
		tracked->given_back = 1;
		tracked->on_device = 0;
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
		end_tracking(set, way, 1);
	return 0;
}

/* ---- completion ---- */

/*
 * A request ends where the kernel counts it: at the last completion of its last byte.
 *
 * A write that asks for cache flushes (FUA, PREFLUSH) completes once when its data are written,
 * with RQF_FLUSH_SEQ set, and again when the flush after it is done: only the second counts.
 * The flush itself is a request of the kernel's own, counted apart. An empty flush is never
 * issued: it has Q2C only.
 */
INLINE int completed(u64 *arguments, u64 since)
{
	struct request *rq = (struct request *)arguments[0];
	s32 status = (s32)arguments[1];
	u32 bytes_now = (u32)arguments[2];
	struct tracked_request *tracked, unseen;
	struct subject is;
	u64 now;

	is.exact_since = since;
	if (!followed(rq, &is, COMPLETING) || bytes_now < rq->__data_len || ended_before(rq, is.op))
		return 0;
	now = ktime_get_ns();
	if (is.way < WAYS && is_over(is.set, is.way))
		is.way = WAYS;
	if (is.op != FLUSH && rq->rq_flags & flush_seq_flag) {
		if (is.way < WAYS) {
			is.set->requests[is.way].on_device = 0;
			leave_device(is.set, is.way, is.place, BY_COMPLETION, 0);
		}
		return 0;
	}
	if (is.op != FLUSH && !(rq->rq_flags & io_stat_flag))
		tally(is.row, is.op, NOT_ACCOUNTED);
	if (is.way < WAYS) {
		tracked = &is.set->requests[is.way];
		if (tracked->queued & BY_KERNEL) /* never issued */
			take_start(&is, tracked, rq);
	} else {
		unseen = (struct tracked_request){};
		tracked = &unseen;
		tracked->sector = rq->__sector;
		tracked->bytes = rq->__data_len;
		tracked->cmd_flags = rq->cmd_flags;
		tracked->unwanted = cgroup_wanted && payer(&is) != cgroup_wanted;
		tracked->queued = start_in_rq && is.op != FLUSH ? rq->start_time_ns : 0;
		if (by_turns)
			take_kernel_times(tracked, &is, rq);
	}
	if (is.way >= WAYS && passes(tracked) && sender_missed()) {
		tally(is.row, is.op, NO_SENDER);
	} else if (!tracked->queued && !tracked->issued && passes(tracked)) {
		if (status)
			tally(is.row, is.op, FAILED);
		tally(is.row, is.op, NO_START);
	} else {
		finish(tracked, &is, status, now);
	}
	if (is.way < WAYS) {
		leave_device(is.set, is.way, is.place, BY_COMPLETION, now);
		end_tracking(is.set, is.way, 1);
	}
	return 0;
}

SEC("tp_btf/block_rq_complete") int complete(u64 *arguments)
{
	return completed(arguments, 0);
}

/* Whose turn it is is read once, so that each request is counted by one of both. */
SEC("tp_btf/block_rq_complete") int complete_by_turns(u64 *arguments)
{
	u64 since = exact_since();

	return since ? completed(arguments, since) : completed_alone(arguments);
}

/* ---- bios ---- */

/* A bio arrives: for a device that makes no requests its tracking begins, else it is remembered for
 * its request. What was split off or sent anew is announced once. */
SEC("tp_btf/block_bio_queue") int arrive(u64 *arguments)
{
	struct bio *bio = bio_argument ? second(arguments) : (struct bio *)arguments[0];
	struct subject is;
	struct tracked_request *tracked;

	is.epoch = epoch_now();
	if (!is.epoch)
		return 0;
	is.rq = 0;
	is.bio = bio;
	is.number = device_of_bio(bio);
	if (!wanted(&is, bio->bi_opf))
		return 0;
	if (!is.device || !is.device->without_requests) {
		if (before && (!by_turns || exact_since()))
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
	tracked = &is.set->requests[is.way];
	begin_tracking(&is, bio->bi_opf, BY_BIO);
	note_origin(&is, arguments);
	tracked->sector = bio->bi_iter.bi_sector;
	tracked->bytes = bio->bi_iter.bi_size;
	tracked->queued = ktime_get_ns();
	if (events)
		enter_device(is.set, is.way, is.device, is.place, BY_BIO, tracked->queued);
	return 0;
}

/* The drivers of such devices change a bio while they work on it, so all but its status is told by
 * its beginning. */
SEC("tp_btf/block_bio_complete") int end_bio(u64 *arguments)
{
	struct bio *bio = (struct bio *)arguments[1];
	struct subject is;
	struct tracked_request *tracked;
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
	tracked = &is.set->requests[is.way];
	is.op = op_of(tracked->cmd_flags);
	is.number = number_of_kind(is.set->begins[is.way].kind);
	is.rq = 0;
	is.bio = bio;
	is.device = find_device(is.number, &is.place);
	is.row = is.device ? is.device->row : NO_ROW;
	now = ktime_get_ns();
	finish(tracked, &is, bio->bi_status, now);
	leave_device(is.set, is.way, is.place, BY_BIO_END, now);
	end_tracking(is.set, is.way, 1);
	return 0;
}
