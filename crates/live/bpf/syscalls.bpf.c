// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * System calls that do I/O, from entry to return, and io_uring requests from submission to
 * completion: counted per process, call, kind of file and, if requested, file system.
 */
#include "spans.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CALLS 512
#define NOT_OURS 0
/* Kinds of files: the top bits of a mode (include/uapi/linux/stat.h), or NO_FILE. */
#define NO_FILE 15
/* include/uapi/linux/fs.h: a process has fewer descriptors than this (sysctl_nr_open_max). */
#define MOST_FILES (1 << 30)

/* By the number of a call: its place in the list of the Rust side plus one; the top bit says that
 * its first argument is a file. */
const volatile u8 calls[CALLS];
const volatile u32 cqe_argument; /* io_uring_complete gives the completion as a struct */
const volatile u32 ring_call;    /* the place in that list of io_uring requests */
const volatile u32 by_system;    /* a file's file system is requested */
/* Only files on these file systems are counted; the first is 0 if on all. */
#define ONLY_SYSTEMS 16
const volatile u32 only_systems[ONLY_SYSTEMS];
#define OF_FILE 0x80

/* arch/x86/include/asm/ptrace.h and arch/arm64/include/asm/ptrace.h: the first argument. */
struct pt_regs {
	u64 nothing;
};
struct pt_regs___x86 {
	u64 di;
} KERNEL_FIELDS;
struct pt_regs___arm {
	u64 orig_x0;
} KERNEL_FIELDS;

/* include/linux/sched.h, fdtable.h, fs.h */
struct super_block {
	u32 s_dev;
} KERNEL_FIELDS;
struct inode {
	u16 i_mode;
	struct super_block *i_sb;
} KERNEL_FIELDS;
struct file {
	struct inode *f_inode;
} KERNEL_FIELDS;
struct fdtable {
	u32 max_fds;
	struct file **fd;
} KERNEL_FIELDS;
struct files_struct {
	struct fdtable *fdt;
} KERNEL_FIELDS;
struct task_struct {
	struct files_struct *files;
} KERNEL_FIELDS;

/* include/linux/io_uring_types.h, include/uapi/linux/io_uring.h */
struct io_kiocb {
	struct file *file;
	u8 opcode;
} KERNEL_FIELDS;
struct io_uring_cqe {
	s32 res;
} KERNEL_FIELDS;

static u64 (*current_task)(void) = (void *)35;

struct begun {
	u64 at;
	u32 kind;
	u32 pid;
	u32 system;
	u32 nothing;
};

/* Threads inside a call, by thread. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, struct begun);
} inside SEC(".maps");

/* Requests in a ring, by address. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 65536);
	TYPE(key, u64);
	TYPE(value, struct begun);
} in_ring SEC(".maps");

/* The number of a file's file system; 0 if it is not requested. */
INLINE u32 system_of(struct inode *inode)
{
	struct super_block *super = 0;
	u32 number = 0;

	if (!by_system)
		return 0;
	read_kernel(&super, sizeof(super), &inode->i_sb);
	if (super)
		read_kernel(&number, sizeof(number), &super->s_dev);
	return number;
}

/* Whether calls on files of this file system are counted. */
INLINE int is_wanted_system(u32 system)
{
	if (!only_systems[0])
		return 1;
#pragma unroll
	for (u32 at = 0; at < ONLY_SYSTEMS; at++)
		if (system && only_systems[at] == system)
			return 1;
	return 0;
}

/* The kind of file of a descriptor of the running process, and its file system. */
INLINE u32 kind_of_file(u32 descriptor, u32 *system)
{
	struct task_struct *task = (struct task_struct *)current_task();
	struct files_struct *files = 0;
	struct fdtable *table = 0;
	struct file **all = 0, *file = 0;
	struct inode *inode = 0;
	u32 most = 0;
	u16 mode = 0;

	read_kernel(&files, sizeof(files), &task->files);
	if (!files)
		return NO_FILE;
	read_kernel(&table, sizeof(table), &files->fdt);
	if (!table)
		return NO_FILE;
	read_kernel(&most, sizeof(most), &table->max_fds);
	read_kernel(&all, sizeof(all), &table->fd);
	if (descriptor >= most || descriptor >= MOST_FILES)
		return NO_FILE;
	read_kernel(&file, sizeof(file), all + descriptor);
	if (!file)
		return NO_FILE;
	read_kernel(&inode, sizeof(inode), &file->f_inode);
	if (!inode)
		return NO_FILE;
	read_kernel(&mode, sizeof(mode), &inode->i_mode);
	*system = system_of(inode);
	return mode >> 12;
}

SEC("tp_btf/sys_enter") int enter_call(u64 *arguments)
{
	struct pt_regs *registers = (struct pt_regs *)arguments[0];
	u64 number = arguments[1];
	u32 tid = current_pid_tgid(), pid = process(), place, file = NO_FILE;
	struct begun begun = {};

	if (number >= CALLS)
		return 0;
	place = calls[number];
	if (place == NOT_OURS || !is_wanted(pid))
		return 0;
	if (place & OF_FILE) {
		u64 first = 0;

		if (FIELD_EXISTS(((struct pt_regs___x86 *)registers)->di))
			first = ((struct pt_regs___x86 *)registers)->di;
		else if (FIELD_EXISTS(((struct pt_regs___arm *)registers)->orig_x0))
			first = ((struct pt_regs___arm *)registers)->orig_x0;
		file = kind_of_file(first, &begun.system);
	}
	if (!is_wanted_system(begun.system))
		return 0;
	begun.kind = (place & ~OF_FILE) - 1 + (file << 8);
	begun.pid = pid;
	begun.at = ktime_get_ns();
	if (map_update(&inside, &tid, &begun, 0))
		miss(NO_START_KEPT);
	return 0;
}

SEC("tp_btf/sys_exit") int leave_call(u64 *arguments)
{
	u32 tid = current_pid_tgid();
	struct begun *begun = map_lookup(&inside, &tid);
	long long result = arguments[1];
	struct group *group;
	u64 now;

	if (!begun)
		return 0;
	now = ktime_get_ns();
	group = group_of(begun->pid, begun->kind, begun->system);
	count_span(group, now - begun->at);
	map_delete(&inside, &tid);
	if (!group)
		return 0;
	if (result < 0)
		group->failed += 1;
	else
		group->amount += result;
	return 0;
}

SEC("tp_btf/io_uring_submit_req") int submit(u64 *arguments)
{
	struct io_kiocb *request = (struct io_kiocb *)arguments[0];
	u64 key = (u64)request;
	u32 pid = process();
	struct file *file = request->file;
	struct begun begun = {};

	if (!is_wanted(pid))
		return 0;
	begun.kind = ring_call + request->opcode;
	begun.kind += (file ? file->f_inode->i_mode >> 12 : NO_FILE) << 8;
	if (file)
		begun.system = system_of(file->f_inode);
	if (!is_wanted_system(begun.system))
		return 0;
	begun.pid = pid;
	begun.at = ktime_get_ns();
	/* The process is running only now: its name is taken here. */
	group_of(pid, begun.kind, begun.system);
	if (map_update(&in_ring, &key, &begun, 0))
		miss(NO_START_KEPT);
	return 0;
}

SEC("tp_btf/io_uring_complete") int complete(u64 *arguments)
{
	u64 key = arguments[1];
	struct begun *begun = map_lookup(&in_ring, &key);
	struct group *group;
	s32 result;

	if (!begun)
		return 0;
	if (cqe_argument)
		read_kernel(&result, sizeof(result), &((struct io_uring_cqe *)arguments[2])->res);
	else
		result = arguments[3];
	group = known_group_of(begun->pid, begun->kind, begun->system);
	count_span(group, ktime_get_ns() - begun->at);
	map_delete(&in_ring, &key);
	if (!group)
		return 0;
	if (result < 0)
		group->failed += 1;
	else
		group->amount += result;
	return 0;
}
