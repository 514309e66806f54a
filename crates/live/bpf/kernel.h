/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The kernel as the tracer sees it: the fields it reads, the helpers it calls, nothing else.
 *
 * Fields are found by name when the program is loaded (CO-RE, preserve_access_index), so neither
 * their order nor what is between them matters, and no kernel header is needed to build.
 */
#ifndef IOWHY_KERNEL_H
#define IOWHY_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

struct task_struct___sender;

#define SEC(name) __attribute__((section(name), used))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define INLINE static inline __attribute__((always_inline))
#define KERNEL_FIELDS __attribute__((preserve_access_index))

/* How a map describes its shape to the loader: an int as an array length, a type as a pointer. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, type) type *name

/* include/uapi/linux/bpf.h: map types, flags, helper numbers. */
#define MAP_ARRAY 2
#define MAP_PERCPU_ARRAY 6
#define MAP_STACK_TRACE 7
#define MAP_LRU_HASH 9
#define MAP_RINGBUF 27
#define ON_PAGES 1024 /* BPF_F_MMAPABLE: values begin at a page, so that lines of the cache hold what
                       * belongs together */
#define RB_NO_WAKEUP 1
#define OF_USER 256 /* BPF_F_USER_STACK */

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*ktime_get_ns)(void) = (void *)5;
static u32 (*smp_processor_id)(void) = (void *)8;
static u64 (*current_pid_tgid)(void) = (void *)14;
static long (*current_comm)(void *text, u32 size) = (void *)16;
static long (*get_stack)(void *arguments, void *map, u64 flags) = (void *)27;
static long (*read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*read_kernel_text)(void *to, u32 size, const void *from) = (void *)115;
static struct task_struct___sender *(*running_task)(void) = (void *)158; /* bpf_get_current_task_btf */
static long (*ns_current_pid_tgid)(u64 dev, u64 ino, void *ids, u32 size) = (void *)120;
static void *(*ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*ringbuf_submit)(void *record, u64 flags) = (void *)132;

/* include/linux/blkdev.h: the requests that a task gathers before it sends them off together, and the
 * clock as it was read for the first of them since 6.9 (da4c8c3d0975); 0: not read yet. */
struct blk_plug {
	u64 cur_ktime;
} KERNEL_FIELDS;

/* include/linux/sched.h */
struct task_struct___sender {
	s32 tgid;
	char comm[16];
	struct blk_plug *plug;
} KERNEL_FIELDS;

/* include/linux/blkdev.h */
struct gendisk {
	s32 major;
	s32 first_minor;
	char disk_name[32]; /* DISK_NAME_LEN */
} KERNEL_FIELDS;

struct request_queue {
	struct gendisk *disk;
} KERNEL_FIELDS;

/* include/linux/kernfs.h, cgroup-defs.h, block/blk-cgroup.h: the way from a bio to the control
 * group that pays for it. */
struct kernfs_node {
	u64 id;
} KERNEL_FIELDS;

struct cgroup {
	struct kernfs_node *kn;
} KERNEL_FIELDS;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} KERNEL_FIELDS;

struct blkcg {
	struct cgroup_subsys_state css;
} KERNEL_FIELDS;

struct blkcg_gq {
	struct blkcg *blkcg;
} KERNEL_FIELDS;

/* include/linux/blk_types.h */
struct bio_vec;
struct block_device {
	struct gendisk *bd_disk;
} KERNEL_FIELDS;

struct bvec_iter {
	u64 bi_sector;
	u32 bi_size;
	u32 bi_idx;
} KERNEL_FIELDS;

struct bio {
	struct block_device *bi_bdev;
	u32 bi_opf;
	u8 bi_status;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
} KERNEL_FIELDS;

/* Before 5.12 (309dca309fc3) the bio itself pointed to its disk. */
struct bio___with_disk {
	struct gendisk *bi_disk;
} KERNEL_FIELDS;

/* include/linux/blk-mq.h */
struct request {
	struct request_queue *q;
	struct bio *bio;
	u32 cmd_flags;
	u32 rq_flags;
	u32 __data_len;
	u64 __sector;
	u64 start_time_ns;
} KERNEL_FIELDS;

/* Before 5.17 (f3fa33acca9f) the request itself pointed to its disk. */
struct request___with_disk {
	struct gendisk *rq_disk;
} KERNEL_FIELDS;

/* clang's question to the loader: does the running kernel have this field? */
#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)

#endif
