/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory of interpreter frames, many frames at a time: where the caller expects them, and around
 * one that is somewhere else. The versions of code objects that the caller expects to meet are read along
 * with them, behind every frame.
 */
#ifndef PANOPY_STACK_FRAME_READER_H
#define PANOPY_STACK_FRAME_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/remote_mem.h"
#include "py_layout.h"
#include "stack/stack_stats.h"

struct frame_reader;

int frame_reader_new(struct frame_reader **ret_reader, struct stack_stats *stats);
void frame_reader_free(struct frame_reader *reader);

/* Forgets what was read. */
void frame_reader_begin(struct frame_reader *reader, struct remote_mem *mem, const struct py_layout *layout);

/* The next fetch is to read the frame at `addr`, too. False: it has no room for more. */
bool frame_reader_expect(struct frame_reader *reader, u64 addr);
/* And the co_version of the code object at `code`. False: it has no room for more. */
bool frame_reader_expect_code(struct frame_reader *reader, u64 code);

/* Reads what was expected, and the surroundings of the frame at `addr` if that was not. What the fetch
 * before last read is forgotten. The errors of remote_mem_read_batch(); -E2BIG: too much was read for one
 * stack. */
int frame_reader_fetch(struct frame_reader *reader, u64 addr);

/* layout->frame_sz bytes, valid until the next fetch; NULL: not read, or not there. */
const u8 *frame_reader_bytes(struct frame_reader *reader, u64 addr);

/* The co_version of the code object that was expected as number `idx` for the last fetch, as it was behind
 * every frame read so far; 0: none was read. */
u32 frame_reader_version(const struct frame_reader *reader, size_t idx);
/* Fetches since frame_reader_begin(). */
size_t frame_reader_fetches(const struct frame_reader *reader);

#endif
