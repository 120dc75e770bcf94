/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's life on this side:
 *
 *   exact -------------------------------------------------> named
 *   truncated (budget, page fault) -> read on, chain ends --> late
 *                                  -> read on fails --------> truncated, as it came
 *   truncated (anything else) -----------------------------> truncated: nothing to read on from
 *
 * Reads go by windows, as in the kernel: frames of ordinary calls lie close together on the data stack,
 * each below the one called from it, so a window ends with the frame that is wanted.
 */
#include "stack/stack_complete.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW_SZ = 4096,
	EXECUTABLE_TAG_BITS = 3,
};

struct stack_completer {
	struct py_frame *frames;
	size_t max_frames;
	struct stack_stats stats;
	remote_addr_t window_addr;
	size_t window_sz; /* 0: nothing read yet */
	u8 window[WINDOW_SZ];
};

struct frame_bytes {
	remote_addr_t executable;
	remote_addr_t previous;
	remote_addr_t instr;
	u8 owner;
};

int stack_completer_new(struct stack_completer **ret_completer, size_t max_frames)
{
	struct stack_completer *completer = calloc(1, sizeof(*completer));

	if (!completer)
		return -ENOMEM;
	completer->max_frames = max_frames;
	completer->frames = calloc(max_frames, sizeof(*completer->frames));
	if (!completer->frames) {
		stack_completer_free(completer);
		return -ENOMEM;
	}
	*ret_completer = completer;
	return 0;
}

void stack_completer_free(struct stack_completer *completer)
{
	if (!completer)
		return;
	free(completer->frames);
	free(completer);
}

const struct stack_stats *stack_completer_stats(const struct stack_completer *completer)
{
	return &completer->stats;
}

static bool window_holds(const struct stack_completer *completer, remote_addr_t addr, size_t sz)
{
	return completer->window_sz && addr >= completer->window_addr &&
	       addr - completer->window_addr <= completer->window_sz - sz;
}

/* A window that ends behind the frame, within its page; else the frame alone. */
static int window_read(struct stack_completer *completer, struct remote_mem *mem, remote_addr_t addr,
		       size_t sz)
{
	remote_addr_t base = addr & ~(remote_addr_t)(WINDOW_SZ - 1);
	int err;

	completer->window_sz = 0;
	if (addr + sz < addr)
		return -EFAULT;
	if (addr + sz - base <= WINDOW_SZ &&
	    !remote_mem_read(mem, base, completer->window, addr + sz - base)) {
		completer->window_addr = base;
		completer->window_sz = addr + sz - base;
		return 0;
	}
	err = remote_mem_read(mem, addr, completer->window, sz);
	if (err)
		return err;
	completer->window_addr = addr;
	completer->window_sz = sz;
	return 0;
}

static u64 load_u64(const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static int frame_read(struct stack_completer *completer, struct remote_mem *mem,
		      const struct py_layout *layout, remote_addr_t addr, struct frame_bytes *ret_frame)
{
	const u8 *bytes;
	int err = 0;

	if (!window_holds(completer, addr, layout->frame_sz))
		err = window_read(completer, mem, addr, layout->frame_sz);
	if (err)
		return err;
	bytes = completer->window + (addr - completer->window_addr);
	ret_frame->executable = load_u64(bytes + layout->frame_executable);
	ret_frame->previous = load_u64(bytes + layout->frame_previous);
	ret_frame->instr = load_u64(bytes + layout->frame_instr);
	ret_frame->owner = bytes[layout->frame_owner];
	return 0;
}

int stack_complete(struct stack_completer *completer, struct remote_mem *mem, const struct py_layout *layout,
		   remote_addr_t resume_frame, const struct py_frame **ret_frames, size_t *ret_cnt)
{
	remote_addr_t addr = resume_frame;
	size_t visits = 2 * completer->max_frames;
	size_t cnt = 0;

	completer->window_sz = 0;
	while (addr) {
		struct frame_bytes frame;
		remote_addr_t code;
		int err;

		if (!visits-- || cnt == completer->max_frames)
			return -ELOOP;
		err = frame_read(completer, mem, layout, addr, &frame);
		if (err)
			return err;
		addr = frame.previous;
		if ((layout->traits & PY_TRAIT_OWNER_ENTRY) && frame.owner >= layout->owner_entry)
			continue;
		code = frame.executable;
		if (layout->traits & PY_TRAIT_TAGGED_EXECUTABLE)
			code &= ~(remote_addr_t)EXECUTABLE_TAG_BITS;
		if (!code)
			return -EFAULT;
		completer->frames[cnt].code = code;
		completer->frames[cnt].instr_off = (s32)(frame.instr - code - layout->code_code_adaptive);
		completer->frames[cnt].fingerprint = 0;
		cnt++;
	}
	*ret_frames = completer->frames;
	*ret_cnt = cnt;
	completer->stats.misses++;
	completer->stats.frames_read += cnt;
	return 0;
}
