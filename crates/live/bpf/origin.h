/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Where a request comes from, if requested: the file its pages belong to, and the stacks
 * of the task that sent it.
 *
 * Pages of the page cache know their file. Those of direct I/O are the program's own: what file a
 * task reads or writes directly is reported by the tracepoints of iomap (6.6), which ext4, XFS and btrfs
 * use. A file's path is sent when the file is first met, and again every few seconds.
 */
#ifndef IOWHY_ORIGIN_H
#define IOWHY_ORIGIN_H

#include "finish.h"

#define PARTS 8        /* components of a path that are sent, from the file up */
#define PART_BYTES 64  /* longer ones are cut */
#define TELL_AGAIN 5000000000ULL /* ns: by then it may have another name */
#define BLOCK_FILE 0060000 /* S_IFBLK, include/uapi/linux/stat.h */
#define FILE_TYPE 0170000  /* S_IFMT */
#define FIELD_OFFSET(field) __builtin_preserve_field_info(field, 0)
#define BVEC_BYTES 16      /* struct bio_vec on 64 bits */

/* include/linux/fs.h, mm_types.h, dcache.h */
struct hlist_node {
	struct hlist_node *next;
} KERNEL_FIELDS;

struct hlist_head {
	struct hlist_node *first;
} KERNEL_FIELDS;

struct super_block {
	u32 s_dev;
} KERNEL_FIELDS;

struct inode {
	u16 i_mode;
	u32 i_generation;
	u32 i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
	struct hlist_head i_dentry;
} KERNEL_FIELDS;

struct qstr {
	const unsigned char *name;
} KERNEL_FIELDS;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	union {
		struct hlist_node d_alias;
	} KERNEL_FIELDS d_u;
} KERNEL_FIELDS;

/* As of 7.x: the union has no name. */
struct dentry___unnamed {
	struct hlist_node d_alias;
} KERNEL_FIELDS;

struct address_space {
	struct inode *host;
} KERNEL_FIELDS;

struct page {
	unsigned long compound_head; /* the head's address plus one, in the tail pages of a folio */
	struct address_space *mapping;
} KERNEL_FIELDS;

struct bio_vec {
	struct page *bv_page;
} KERNEL_FIELDS;

struct file {
	struct inode *f_inode;
} KERNEL_FIELDS;

struct kiocb {
	struct file *ki_filp;
} KERNEL_FIELDS;

/* The path of a file, components from the file up; distinguished from the other records by its size. */
struct path {
	struct file_key key;
	u32 rdev;  /* a block device itself, not a file: its number */
	u16 parts;
	u16 whole; /* the last part is the root of the file system */
	char part[PARTS][PART_BYTES];
};
_Static_assert(sizeof(struct path) == 536, "not as in src/ring_records.rs");

/* When a file's path was last sent. */
struct {
	NUMBER(type, MAP_LRU_HASH);
	NUMBER(max_entries, 1);
	TYPE(key, struct file_key);
	TYPE(value, u64);
} told SEC(".maps");

/* The file that a task reads or writes directly at this moment. */
struct {
	NUMBER(type, MAP_LRU_HASH);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} direct SEC(".maps");

/* Any pointer may be wrong by the time it is followed: the helper then reads zeroes. */
#define FOLLOW(to, pointer, field) read_kernel(&(to), sizeof(to), &(pointer)->field)

/* The inode whose pages a bio reads or writes; 0: the pages are a program's own. */
INLINE u64 inode_of_pages(struct bio *bio)
{
	u64 vectors = 0, page = 0, head = 0, mapping = 0, host = 0;

	FOLLOW(vectors, bio, bi_io_vec);
	if (!vectors)
		return 0;
	vectors += (u64)bio->bi_iter.bi_idx * BVEC_BYTES;
	FOLLOW(page, (struct bio_vec *)vectors, bv_page);
	if (!page)
		return 0;
	if (FIELD_EXISTS(((struct page *)page)->compound_head)) {
		FOLLOW(head, (struct page *)page, compound_head);
		if (head & 1)
			page = head - 1;
	}
	FOLLOW(mapping, (struct page *)page, mapping);
	/* Its two low bits say that it is none: include/linux/page-flags.h, PAGE_MAPPING_FLAGS. */
	if (!mapping || mapping & 3)
		return 0;
	FOLLOW(host, (struct address_space *)mapping, host);
	return host;
}

INLINE void identify(u64 inode, struct file_key *key)
{
	struct inode *of = (struct inode *)inode;
	u64 super = 0;

	FOLLOW(key->inode, of, i_ino);
	FOLLOW(key->generation, of, i_generation);
	FOLLOW(super, of, i_sb);
	FOLLOW(key->dev, (struct super_block *)super, s_dev);
}

/* The components of a file's path, from the file up to the root of its file system. */
INLINE void spell(struct path *path, u64 inode)
{
	u64 node = 0, dentry, parent, text;

	path->parts = 0;
	path->whole = 0;
	FOLLOW(node, (struct inode *)inode, i_dentry.first);
	if (!node)
		return;
	if (FIELD_EXISTS(((struct dentry *)0)->d_u.d_alias))
		dentry = node - FIELD_OFFSET(((struct dentry *)0)->d_u.d_alias);
	else if (FIELD_EXISTS(((struct dentry___unnamed *)0)->d_alias))
		dentry = node - FIELD_OFFSET(((struct dentry___unnamed *)0)->d_alias);
	else
		return;
#pragma unroll
	for (u32 at = 0; at < PARTS; at++) {
		parent = 0;
		text = 0;
		FOLLOW(parent, (struct dentry *)dentry, d_parent);
		if (!parent || parent == dentry) {
			path->whole = parent == dentry;
			return;
		}
		FOLLOW(text, (struct dentry *)dentry, d_name.name);
		read_kernel_text(path->part[at], PART_BYTES, (void *)text);
		path->parts = at + 1;
		dentry = parent;
	}
}

INLINE void tell_path(u64 inode, struct file_key *key)
{
	u64 now = ktime_get_ns(), *last = map_lookup(&told, key);
	struct path *path;
	u16 mode = 0;

	if (last && now - *last < TELL_AGAIN)
		return;
	path = ringbuf_reserve(&records, sizeof(*path), 0);
	if (!path)
		return;
	path->key = *key;
	path->rdev = 0;
	FOLLOW(mode, (struct inode *)inode, i_mode);
	if ((mode & FILE_TYPE) == BLOCK_FILE)
		FOLLOW(path->rdev, (struct inode *)inode, i_rdev);
	spell(path, inode);
	ringbuf_submit(path, RB_NO_WAKEUP);
	map_update(&told, key, &now, 0);
}

/* Notes where a request comes from as it begins, in the task that sends it. */
INLINE void note_origin(struct subject *is, u64 *arguments)
{
	struct origin *origin = origin_of(is);

	if (!origin)
		return;
	origin->file = (struct file_key){};
	origin->kernel_stack = -1;
	origin->user_stack = -1;
	if (files && (is->op == READ || is->op == WRITE)) {
		struct bio *bio = first_bio(is);
		u32 task = (u32)current_pid_tgid();
		u64 *own = map_lookup(&direct, &task);
		u64 inode = !bio ? 0 : own ? *own : inode_of_pages(bio);
		struct file_key key = {};

		if (inode) {
			identify(inode, &key);
			origin->file = key;
			tell_path(inode, &key);
		}
	}
	if (stacks) {
		origin->kernel_stack = get_stack(arguments, &traces, 0);
		origin->user_stack = get_stack(arguments, &traces, OF_USER);
	}
}

/* A task begins to read or write a file directly. */
SEC("tp_btf/iomap_dio_rw_begin") int direct_begins(u64 *arguments)
{
	struct kiocb *control = (struct kiocb *)arguments[0];
	u32 task = (u32)current_pid_tgid();
	u64 inode = 0, file = 0;

	FOLLOW(file, control, ki_filp);
	FOLLOW(inode, (struct file *)file, f_inode);
	if (inode)
		map_update(&direct, &task, &inode, 0);
	return 0;
}

/* Forgets it, unless an interrupt ends the I/O of another file. */
INLINE void direct_ends(u64 inode)
{
	u32 task = (u32)current_pid_tgid();
	u64 *own = map_lookup(&direct, &task);

	if (own && *own == inode)
		map_delete(&direct, &task);
}

/* All of it is submitted, and the task continues. */
SEC("tp_btf/iomap_dio_rw_queued") int direct_queued(u64 *arguments)
{
	u64 inode = 0;

	/* A guarded pointer becomes a number on its way through memory. */
	read_kernel(&inode, sizeof(inode), arguments);
	direct_ends(inode);
	return 0;
}

/* It is done; of an asynchronous one in another task, which then has nothing to forget. */
SEC("tp_btf/iomap_dio_complete") int direct_done(u64 *arguments)
{
	struct kiocb *control = (struct kiocb *)arguments[0];
	u64 inode = 0, file = 0;

	FOLLOW(file, control, ki_filp);
	FOLLOW(inode, (struct file *)file, f_inode);
	direct_ends(inode);
	return 0;
}

#endif
