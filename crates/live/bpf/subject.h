/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The request that a probe was called for: is it to be followed, where is its slot, what is its sender.
 */
#ifndef IOWHY_SUBJECT_H
#define IOWHY_SUBJECT_H

#include "process.h"
#include "slots.h"

/* What a probe needs to know of its request or bio. */
struct subject {
	u32 op;
	u32 number; /* of the device; 0: none */
	u32 place;  /* in the device table */
	u32 row;
	struct device *device; /* NULL: not in the table */
	struct request *rq;    /* NULL: of a device that makes no requests, `bio` */
	struct bio *bio;
	struct task_struct___sender *task; /* the sender, where it is known */
	u64 id;
	u64 epoch;
	u64 exact_since; /* as in `struct epoch`, where there are turns */
	struct set *set;
	u32 way; /* WAYS: it has no slot */
};

/* The running interval, or 0 if the watch is off. */
INLINE u64 epoch_now(void)
{
	u32 first = 0;
	struct epoch *epoch = map_lookup(&epochs, &first);

	return epoch ? epoch->number : 0;
}

/* Since when it is the turn of the exact tracer; 0 if it is not. */
INLINE u64 exact_since(void)
{
	u32 first = 0;
	struct epoch *epoch = map_lookup(&epochs, &first);

	return epoch ? epoch->exact_since : 0;
}

/* The time of the last poll. */
INLINE u64 about_now(void)
{
	u32 first = 0;
	struct epoch *epoch = map_lookup(&epochs, &first);

	return epoch ? epoch->about : 0;
}

/* Whether the device and the operation are selected. */
INLINE int wanted(struct subject *is, u32 cmd_flags)
{
	is->op = op_of(cmd_flags);
	if (!is->number || !(ops_wanted >> is->op & 1))
		return 0;
	is->device = find_device(is->number, &is->place);
	if (!is->device && !every_device)
		return 0;
	is->row = is->device ? is->device->row : NO_ROW;
	return 1;
}

/* Who looks a slot up: which line of its set is at hand. */
enum side { SENDING, COMPLETING };

INLINE int find_slot(struct subject *is, void *pointer, enum side side)
{
	is->id = identity(pointer);
	is->set = set_of(is->id);
	if (!is->set)
		return 0;
	is->way = way_among(side == SENDING ? is->set->ids : is->set->ending_ids, is->id);
	return 1;
}

/* Forgets a request of an earlier turn, which ended unseen between the turns. */
INLINE void forget_earlier(struct subject *is)
{
	struct tracked_request *tracked = &is->set->requests[is->way & (WAYS - 1)];
	struct ends *ends = &is->set->ends[is->way & (WAYS - 1)];
	u64 last = tracked->issued ? tracked->issued : tracked->queued & ~(BY_KERNEL | ARRIVAL);

	if (is->way < WAYS && last < is->exact_since) {
		ends->ended = tracked->begun;
		tracked->issued = 1; /* so that it is not taken for one that waits for its issue */
	}
}

/* Whether the request is to be followed: the watch is on, its device and operation are wanted. Whoever asks knows
 * whose turn it is. */
INLINE int followed(struct request *rq, struct subject *is, enum side side)
{
	is->epoch = epoch_now();
	if (!is->epoch)
		return 0;
	is->rq = rq;
	is->bio = 0;
	is->number = device_number(rq);
	if (!wanted(is, rq->cmd_flags))
		return 0;
	if (!is->device && side == SENDING) {
		struct gendisk *disk = disk_of(rq);

		if (disk)
			note_name(disk, is->number);
	}
	if (!find_slot(is, rq, side))
		return 0;
	if (by_turns)
		forget_earlier(is);
	return 1;
}

/* Whether all its data were completed before: the device mapper completes a request of several paths by
 * those of its clone, and then once more (dm_end_request of drivers/md/dm-rq.c). One with a flush
 * after its data has its bios back by then (blk_flush_restore_request). */
INLINE int ended_before(struct request *rq, u32 op)
{
	return op != FLUSH && op != OTHER && !rq->__data_len && !rq->bio;
}

/* Whether the request is to be followed, and it is the turn of the exact tracer. */
INLINE int request_wanted(struct request *rq, struct subject *is, enum side side)
{
	is->exact_since = by_turns ? exact_since() : 0;
	return (!by_turns || is->exact_since) && followed(rq, is, side);
}

/* The second argument of a probe. Left to itself the compiler makes one load at a computed place out
 * of a choice between two arguments, which no verifier lets pass. */
INLINE void *second(u64 *arguments)
{
	void *argument;

	asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(argument) : "r"(arguments));
	return argument;
}

INLINE struct request *request_of(u64 *arguments)
{
	return rq_argument ? second(arguments) : (struct request *)arguments[0];
}

/* The bio, or the first of the request. Asked for where it is needed and nowhere else: each time the verifier comes by
 * the load of a pointer from an argument, it looks through all types of the kernel (btf_nested_type_is_trusted). */
INLINE struct bio *first_bio(struct subject *is)
{
	struct bio *bio = is->bio;

	/* Else the compiler loads once, from the stack or from the request, which 5.10 and 6.1 refuse. */
	asm volatile("" : "+r"(bio));
	return is->rq ? is->rq->bio : bio;
}

/* The number of the control group that pays for it; 0 if none does. */
INLINE u64 payer(struct subject *is)
{
	struct bio *bio = first_bio(is);
	struct blkcg_gq *group = bio ? bio->bi_blkg : 0;
	struct blkcg *of = group ? group->blkcg : 0;
	struct cgroup *cgroup = of ? of->css.cgroup : 0;
	struct kernfs_node *node = cgroup ? cgroup->kn : 0;

	return node ? node->id : 0;
}

/* The place for the origin of what has a slot; NULL if none is requested. */
INLINE struct origin *origin_of(struct subject *is)
{
	struct origins *all;
	u32 key;

	if (!files && !stacks)
		return 0;
	key = scattered(is->id, set_shift);
	all = is->way < WAYS ? map_lookup(&origins, &key) : 0;
	return all ? &all->of[is->way & (WAYS - 1)] : 0;
}

/* Notes the sender. The name is read in place, because the helper that copies it takes as long as the rest of a
 * program; only there it is padded with zeroes on every kernel, which a requested name needs. */
INLINE void note_sender(struct subject *is, struct tracked_request *tracked)
{
	if (task_known && !comm_wanted[0] && !pids_ino) {
		u64 *comm = (u64 *)&is->task->comm;

		tracked->pid = is->task->tgid;
		tracked->comm[0] = comm[0];
		tracked->comm[1] = comm[1];
	} else {
		tracked->pid = process();
		current_comm(tracked->comm, sizeof(tracked->comm));
	}
}

/* The task that last needed a flush of a device: the flush is the kernel's own request, sent by any task. */
struct asker {
	u64 comm[2];
	u64 cgroup; /* 0: none, or not requested */
	u64 pid;
};

struct {
	NUMBER(type, MAP_LRU_HASH);
	NUMBER(max_entries, 256);
	TYPE(key, u32);
	TYPE(value, struct asker);
} askers SEC(".maps");

/* Asked for or not, for the flush may be. */
INLINE void note_asker(struct request *rq, struct subject *is)
{
	struct asker asker = {};
	u32 number;

	if (!(rq->cmd_flags & asks_flush))
		return;
	is->rq = rq;
	is->bio = 0;
	number = device_number(rq);
	current_comm(asker.comm, sizeof(asker.comm));
	asker.cgroup = cgroups ? payer(is) : 0;
	asker.pid = process();
	map_update(&askers, &number, &asker, 0);
}

/* The sender of a flush is the task that needed it, if that was seen. */
INLINE void take_asker(struct subject *is)
{
	struct tracked_request *tracked = &is->set->requests[is->way & (WAYS - 1)];
	struct asker *asker = map_lookup(&askers, &is->number);

	if (!asker)
		return;
	tracked->comm[0] = asker->comm[0];
	tracked->comm[1] = asker->comm[1];
	tracked->pid = (u32)asker->pid;
}

/* Begins a request in the process that sends it.
 *
 * The sender is read before the request is written: its line of the cache has to be fetched from the CPU that
 * completes, and a call after the first writes waits for that. */
INLINE void begin_tracking(struct subject *is, u32 cmd_flags, enum crossing by)
{
	struct tracked_request *tracked = &is->set->requests[is->way & (WAYS - 1)];
	struct begins *begins = &is->set->begins[is->way & (WAYS - 1)];
	u32 kind = kind_of(is->number, is->op);
	u64 *comm = tracked->comm;

	if (task_known)
		is->task = running_task();
	/* The ends that escape us are counted at the next that is seen in their slot, as of its device and
	 * operation, and so before one of another kind begins there, and before 2^16 of them look like none. */
	if (!LIKELY(begins->kind == kind && begins->begun & 0x7fff)) {
		settle(is->set, is->way, by);
		begins->kind = kind;
	}
	begins->begun += 1;
	tracked->begun = begins->begun;
	tracked->entered = begins->entered;
	tracked->issued = 0;
	tracked->cmd_flags = cmd_flags;
	tracked->waited = 0;
	tracked->depth = 0;
	tracked->given_back = 0;
	tracked->on_device = 0;
	tracked->unwanted = 0;
	if (events || by_who)
		note_sender(is, tracked);
	if (!by_who)
		return;
	if (pid_wanted && tracked->pid != pid_wanted)
		tracked->unwanted = 1;
	if (comm_wanted[0] && (comm[0] != comm_wanted[0] || comm[1] != comm_wanted[1]))
		tracked->unwanted = 1;
	if (cgroup_wanted && payer(is) != cgroup_wanted)
		tracked->unwanted = 1;
}

INLINE void begin_request(struct subject *is, struct request *rq, enum crossing by)
{
	struct tracked_request *tracked = &is->set->requests[is->way & (WAYS - 1)];

	begin_tracking(is, rq->cmd_flags, by);
	tracked->sector = rq->__sector;
	tracked->bytes = rq->__data_len;
}

/*
 * Since 6.9 a request's start_time_ns is the clock as it was read for the first of a plug. Where there is no
 * plug, or its clock was not read yet, the kernel reads it for this very request, right after this probe
 * (blk_time_get_ns of block/blk.h), and it need not be read twice, which takes longer than all the
 * rest of the probe. Until the issue takes it from the request, `queued` is some moment before, marked by a
 * bit that no time has, so that this probe need not read from a request.
 */
INLINE int start_by_kernel(struct subject *is)
{
	struct blk_plug *plug;

	if (!plug_clock || !task_known)
		return 0;
	if (is->op > DISCARD || !is->device || !is->device->keeps_starts)
		return 0;
	plug = is->task->plug;
	return !plug || !plug->cur_ktime;
}

/* The start as the kernel keeps it in the request, unless that was switched off since. */
INLINE void take_start(struct subject *is, struct tracked_request *tracked, struct request *rq)
{
	u64 arrived = tracked->queued & ARRIVAL ? tracked->queued & ~(BY_KERNEL | ARRIVAL) : 0;

	tracked->queued = rq->rq_flags & io_stat_flag ? rq->start_time_ns : 0;
	if (!tracked->queued && is->device)
		is->device->keeps_starts = 0;
	if (before && arrived && tracked->queued > arrived)
		tracked->waited = shortened(tracked->queued - arrived);
}

#endif
