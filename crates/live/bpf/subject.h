/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Callers a probe was called for: is it to be followed, where is its slot, who sends it.
 */
#ifndef IOWHY_SUBJECT_H
#define IOWHY_SUBJECT_H

#include "slots.h"

/* What a probe needs to know of its request or bio. */
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

/* The running stretch, or 0 if the watch is off. */
INLINE u64 epoch_now(void)
{
	u32 first = 0;
	u64 *epoch = map_lookup(&epochs, &first);

	return epoch ? *epoch : 0;
}

/* Whether the device and the operation are asked for. */
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

/* Whether the request is to be followed: the watch is on, its device and operation are wanted. */
INLINE int request_wanted(struct request *rq, struct subject *is, enum side side)
{
	is->epoch = epoch_now();
	if (!is->epoch)
		return 0;
	is->number = device_number(rq);
	return wanted(is, rq->cmd_flags) && find_slot(is, rq, side);
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

/* The number of the control group that pays for a bio; 0 if none does. */
INLINE u64 payer(struct bio *bio)
{
	struct blkcg_gq *group = bio ? bio->bi_blkg : 0;
	struct blkcg *of = group ? group->blkcg : 0;
	struct cgroup *cgroup = of ? of->css.cgroup : 0;
	struct kernfs_node *node = cgroup ? cgroup->kn : 0;

	return node ? node->id : 0;
}

/* The place for the origin of what has a slot; NULL if none is asked for. */
INLINE struct origin *origin_of(struct subject *is)
{
	u32 key = scattered(is->id, set_bits);
	struct origins *all;

	if (!files && !stacks)
		return 0;
	all = is->way < WAYS ? map_lookup(&origins, &key) : 0;
	return all ? &all->of[is->way & (WAYS - 1)] : 0;
}

/* What is known besides of what has a slot; NULL if nothing is asked for. */
INLINE struct more *more_of(struct subject *is)
{
	return (before || cgroups) && is->way < WAYS ? &is->set->more[is->way & (WAYS - 1)] : 0;
}

/* A device and an operation in one number: a major is less than 512 (__register_blkdev of
 * block/genhd.c), so the uppermost three bits of a device's are free. */
INLINE u32 kind_of(u32 number, u32 op)
{
	return number ^ op << 29;
}

/* Begins a life in the process that sends it. */
INLINE void begin_life(struct subject *is, u32 cmd_flags, struct bio *bio, enum crossing by)
{
	struct life *life = &is->set->lives[is->way & (WAYS - 1)];
	struct begins *begins = &is->set->begins[is->way & (WAYS - 1)];
	struct more *more = &is->set->more[is->way & (WAYS - 1)];
	u32 kind = kind_of(is->number, is->op);
	u64 *comm = life->comm;

	/* The ends that escape us are counted at the next that is seen in their slot, as of its device and
	 * operation, and so before one of another kind begins there, and before 2^16 of them look like none. */
	if (begins->kind != kind || !(begins->begun & 0x7fff)) {
		settle(is->set, is->way, by);
		begins->kind = kind;
	}
	begins->begun += 1;
	life->begun = begins->begun;
	life->entered = begins->entered;
	life->issued = 0;
	life->cmd_flags = cmd_flags;
	life->number = is->number;
	life->depth = 0;
	life->given_back = 0;
	life->on_device = 0;
	life->unwanted = 0;
	if (events || by_who) {
		life->pid = current_pid_tgid() >> 32;
		current_comm(comm, sizeof(life->comm));
	}
	if (before)
		more->arrived = 0;
	if (cgroups)
		more->cgroup = payer(bio);
	if (!by_who)
		return;
	if (pid_wanted && life->pid != pid_wanted)
		life->unwanted = 1;
	if (comm_wanted[0] && (comm[0] != comm_wanted[0] || comm[1] != comm_wanted[1]))
		life->unwanted = 1;
	if (cgroup_wanted && more->cgroup != cgroup_wanted)
		life->unwanted = 1;
}

INLINE void begin_request(struct subject *is, struct request *rq, enum crossing by)
{
	struct life *life = &is->set->lives[is->way & (WAYS - 1)];

	begin_life(is, rq->cmd_flags, rq->bio, by);
	life->sector = rq->__sector;
	life->bytes = rq->__data_len;
}

#endif
