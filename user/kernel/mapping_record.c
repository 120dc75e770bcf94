/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/mapping_record.h"

/* linux/perf_event.h describes PERF_RECORD_MMAP2 in a comment only. */
struct mmap2_record {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr;
	u64 len;
	u64 pgoff;
	u32 major, minor;
	u64 inode;
};

bool mapping_record_decode(const struct perf_event_header *header, struct mapping_event *ret_mapping)
{
	const struct mmap2_record *record = (const void *)header;

	if (header->type != PERF_RECORD_MMAP2 || header->size < sizeof(*record) || !record->inode)
		return false;
	ret_mapping->pid = record->pid;
	ret_mapping->start = record->addr;
	ret_mapping->end = record->addr + record->len;
	ret_mapping->file_offset = record->pgoff;
	return true;
}
