/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The number of the running process, as whoever watches knows it: in a container that of its own namespace.
 */
#ifndef IOWHY_PROCESS_H
#define IOWHY_PROCESS_H

#include "kernel.h"

/* Handed in before loading: the file /proc/self/ns/pid of whoever watches. */
const volatile u64 pids_dev;
const volatile u64 pids_ino; /* 0: the first namespace, of which all processes are */

/* 0 if the process is not visible from there, as getpid(2) returns for such a parent. */
INLINE u32 process(void)
{
	struct {
		u32 pid;
		u32 tgid;
	} ids = {};

	if (!pids_ino)
		return current_pid_tgid() >> 32;
	return ns_current_pid_tgid(pids_dev, pids_ino, &ids, sizeof(ids)) ? 0 : ids.tgid;
}

#endif
