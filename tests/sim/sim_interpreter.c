/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_interpreter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

/* Where what lies; everything starts on a page. */
enum {
	RUNTIME_OFF = 0,
	INTERP_OFF = 64 << 10,
	TSTATE_OFF = 128 << 10,
	TSTATE_SZ = 2048,
	TSTATE_CNT = 2 * SIM_THREADS,
	BASE_FRAME_OFF = 1024, /* in a thread state */
	ROOT_CFRAME_OFF = 1536,
	CODE_OFF = 256 << 10,
	CODE_SZ = 1024,
	CODE_NAME_OFF = 256, /* parts of one code object's memory */
	CODE_QUALNAME_OFF = 384,
	CODE_FILENAME_OFF = 512,
	CODE_TABLE_OFF = 640,
	CODE_TEXT_OFF = 768, /* what type pointers and the like point at */
	GENERATOR_OFF = 512 << 10,
	GENERATOR_SZ = 512,
	GENERATOR_FRAME_OFF = 72,
	CSTACK_OFF = 1 << 20,
	CSTACK_SZ = 64 << 10,
	COPIES_OFF = 3 << 20,
	COPY_SZ = 64, /* SIM_LINES * SIM_UNIT bytes, and what separates them */
	COPY_ARRAYS_OFF = 7 << 20,
	COPY_ARRAY_SZ = 64,
	CHUNK_OFF = 4 << 20,
	ENTRY_SZ = 256, /* an evaluation on the C stack: entry frame, cframe */
	CFRAME_OFF = 128,
};

static u64 tagged(const struct sim_interpreter *sim, u64 code)
{
	return sim->layout->traits & PY_TRAIT_TAGGED_EXECUTABLE ? code | 1 : code;
}

s32 sim_instr_off(const struct py_layout *layout, u32 line)
{
	s32 off = (s32)(line * SIM_UNIT);

	/* prev_instr (3.11, 3.12) is one unit of two bytes before the next instruction; f_lasti begins with -1. */
	if (layout->traits & PY_TRAIT_FRAME_OBJECT && line == 0)
		return layout->traits & PY_TRAIT_LASTI_UNITS ? -2 : -1;
	return layout->traits & PY_TRAIT_CFRAME && line == 0 ? -2 : off;
}

void sim_name(u32 serial, char *ret_name, size_t sz)
{
	snprintf(ret_name, sz, "f%u", serial);
}

s32 sim_line(u32 serial, u32 line)
{
	return (s32)(serial % 1000 + 1 + line);
}

bool sim_is_generator(u64 frame_addr)
{
	return frame_addr >= SIM_BASE + GENERATOR_OFF && frame_addr < SIM_BASE + CSTACK_OFF;
}

u32 sim_serial_at(const struct sim_interpreter *sim, u64 code)
{
	for (u32 i = 0; i < SIM_CODES; i++) {
		if (sim->codes[i].addr == code)
			return sim->codes[i].serial;
	}
	return SIM_CODE_NONE;
}

static bool has_copies(const struct sim_interpreter *sim)
{
	return sim->layout->code_tlbc != 0;
}

/* Where the bytecode begins that a frame with this index runs. */
static u64 bytecode_of(const struct sim_interpreter *sim, u32 code, u32 index)
{
	return index ? sim->codes[code].copies[index]
		     : sim->codes[code].addr + sim->layout->code_code_adaptive;
}

static void put_copy(struct sim_interpreter *sim, u32 idx, u32 index, u64 addr)
{
	struct sim_code *code = &sim->codes[idx];
	/* The array moves as it grows; what was there stays as it was. */
	u64 array = SIM_BASE + COPY_ARRAYS_OFF + ((u64)idx * 8 + code->copies_sz) * COPY_ARRAY_SZ;

	code->copies[index] = addr;
	sim_put_u64(sim->memory, array, code->copies_sz);
	for (u32 i = 0; i < code->copies_sz; i++)
		sim_put_u64(sim->memory, array + 8 + 8 * (u64)i, bytecode_of(sim, idx, i));
	sim_put_u64(sim->memory, code->addr + sim->layout->code_tlbc, array);
}

static void free_copy(struct sim_interpreter *sim, u32 idx, u32 index)
{
	u64 addr = sim->codes[idx].copies[index];

	if (!addr)
		return;
	sim->copy_is_used[(addr - SIM_BASE - COPIES_OFF) / COPY_SZ] = false;
	put_copy(sim, idx, index, 0);
}

/* RESUME: the thread's own copy from here on. */
static void make_copy(struct sim_interpreter *sim, u32 idx, u32 index)
{
	u32 place = sim_below(sim->random, SIM_COPIES);

	if (sim->codes[idx].copies[index])
		return;
	while (sim->copy_is_used[place])
		place = (place + 1) % SIM_COPIES;
	sim->copy_is_used[place] = true;
	if (index >= sim->codes[idx].copies_sz)
		sim->codes[idx].copies_sz = index < 2 ? 2 : SIM_THREADS;
	put_copy(sim, idx, index, SIM_BASE + COPIES_OFF + (u64)place * COPY_SZ);
}

s64 sim_bytecode_off(const struct sim_interpreter *sim, u64 code, u64 instr, u32 index)
{
	u64 own = code + sim->layout->code_code_adaptive;

	if (!has_copies(sim) || instr - own < (u64)SIM_LINES * SIM_UNIT)
		return (s64)(instr - own);
	for (u32 i = 0; i < SIM_CODES && index < SIM_THREADS; i++) {
		u64 copy = sim->codes[i].copies[index];

		if (sim->codes[i].addr == code && copy && instr - copy < (u64)SIM_LINES * SIM_UNIT)
			return (s64)(instr - copy);
	}
	return -1;
}

/* A compact ASCII string. Its hash may not be computed yet. */
static void put_text(struct sim_interpreter *sim, u64 addr, const char *text, u64 hash)
{
	const struct py_layout *layout = sim->layout;
	size_t sz = strlen(text);

	sim_put_u64(sim->memory, addr + layout->unicode_length, sz);
	sim_put_u64(sim->memory, addr + layout->unicode_hash, hash);
	sim_put_u32(sim->memory, addr + layout->unicode_state,
		    layout->traits & PY_TRAIT_INTERNED_BYTE ? 3 | 1 << 8 | 1 << 11 | 1 << 12
							    : 3 | 1 << 2 | 1 << 5 | 1 << 6);
	sim_put(sim->memory, addr + layout->unicode_ascii_sz, text, sz + 1);
}

/* A line table of one entry for each line, two units long; of locations: "no columns". */
static void put_table(struct sim_interpreter *sim, u64 addr)
{
	u32 pairs = sim->layout->traits & (PY_TRAIT_LNOTAB | PY_TRAIT_LINE_RANGES);
	u8 table[2 * SIM_LINES];

	for (size_t i = 0; i < SIM_LINES; i++) {
		table[2 * i] = pairs ? SIM_UNIT : 0x80 | 13 << 3 | 1;
		/* One line on: for these units, or behind them. */
		table[2 * i + 1] = pairs == PY_TRAIT_LNOTAB ? 1 : !i ? 0 : pairs ? 1 : 2;
	}
	sim_put_u64(sim->memory, addr + sim->layout->bytes_size, sizeof(table));
	sim_put(sim->memory, addr + sim->layout->bytes_data, table, sizeof(table));
}

static void make_code(struct sim_interpreter *sim, u32 idx)
{
	struct sim_code *code = &sim->codes[idx];
	const struct py_layout *layout = sim->layout;
	u64 addr = SIM_BASE + CODE_OFF + (u64)idx * CODE_SZ;
	bool has_hash = !sim_chance(sim->random, 8);
	char name[32];

	*code = (struct sim_code){.addr = addr, .serial = sim->next_serial++, .is_alive = true};
	sim_name(code->serial, name, sizeof(name));
	put_text(sim, addr + CODE_NAME_OFF, name, has_hash ? sim_random(sim->random) >> 1 : ~0ULL);
	put_text(sim, addr + CODE_QUALNAME_OFF, name, has_hash ? sim_random(sim->random) >> 1 : ~0ULL);
	put_text(sim, addr + CODE_FILENAME_OFF, "/sim/sim.py", 77);
	put_table(sim, addr + CODE_TABLE_OFF);
	sim_put_u64(sim->memory, addr + layout->code_name, addr + CODE_NAME_OFF);
	sim_put_u64(sim->memory, addr + layout->code_qualname, addr + CODE_QUALNAME_OFF);
	sim_put_u64(sim->memory, addr + layout->code_filename, addr + CODE_FILENAME_OFF);
	sim_put_u64(sim->memory, addr + layout->code_linetable, addr + CODE_TABLE_OFF);
	sim_put_u32(sim->memory, addr + layout->code_firstlineno, (u32)sim_line(code->serial, 0));
	if (has_copies(sim)) {
		sim_put_u64(sim->memory, addr + layout->bytes_size, SIM_LINES * SIM_UNIT / 2);
		code->copies_sz = 1;
		put_copy(sim, idx, 0, 0);
	}
	if (layout->code_version)
		sim_put_u32(sim->memory, addr + layout->code_version, sim->next_version++);
	if (layout->traits & PY_TRAIT_PROOF_NEXT_VERSION)
		sim_put_u32(sim->memory, sim->interp + layout->interp_code_proof, sim->next_version);
}

static void free_code(struct sim_interpreter *sim, u32 idx)
{
	for (u32 index = 1; index < SIM_THREADS; index++) {
		if (has_copies(sim))
			free_copy(sim, idx, index);
	}
	sim->codes[idx].is_alive = false;
	if (sim->layout->traits & PY_TRAIT_PROOF_GENERATION)
		sim_put_u64(sim->memory, sim->interp + sim->layout->interp_code_proof, ++sim->proof);
	/* What a free list would write over it. */
	if (sim_chance(sim->random, 2))
		sim_put_u64(sim->memory, sim->codes[idx].addr, sim_random(sim->random));
}

/* A code object to call: mostly one that is there. */
static u32 pick_code(struct sim_interpreter *sim)
{
	u32 idx = sim_below(sim->random, SIM_CODES);

	if (!sim->codes[idx].is_alive)
		make_code(sim, idx);
	return idx;
}

static u64 make_chunk(struct sim_interpreter *sim, u64 previous)
{
	const struct py_layout *layout = sim->layout;
	u32 idx = sim_below(sim->random, SIM_CHUNKS);
	u64 addr;

	while (sim->chunk_is_used[idx])
		idx = (idx + 1) % SIM_CHUNKS;
	sim->chunk_is_used[idx] = true;
	addr = SIM_BASE + CHUNK_OFF + (u64)idx * SIM_CHUNK_SZ;
	sim_memory_map(sim->memory, addr, SIM_CHUNK_SZ, true);
	sim_put_u64(sim->memory, addr + layout->chunk_previous, previous);
	sim_put_u64(sim->memory, addr + layout->chunk_size, SIM_CHUNK_SZ);
	sim_put_u64(sim->memory, addr + layout->chunk_top, 0);
	return addr;
}

static void free_chunk(struct sim_interpreter *sim, u64 addr)
{
	sim->chunk_is_used[(addr - SIM_BASE - CHUNK_OFF) / SIM_CHUNK_SZ] = false;
	if (sim_chance(sim->random, 2))
		sim_memory_map(sim->memory, addr, SIM_CHUNK_SZ, false);
}

/* _PyThreadState_PushFrame: room on the data stack, in a new chunk where the old one is full. */
static u64 push_room(struct sim_interpreter *sim, struct sim_stack *stack, size_t sz)
{
	const struct py_layout *layout = sim->layout;
	u64 addr = stack->top;

	if (!stack->chunk || addr + sz > stack->chunk + SIM_CHUNK_SZ) {
		u64 previous = stack->chunk;

		if (previous)
			sim_put_u64(sim->memory, previous + layout->chunk_top,
				    (stack->top - previous - layout->chunk_data) / sizeof(u64));
		stack->chunk = make_chunk(sim, previous);
		/* The first chunk's first word is skipped, so that it is never freed. */
		addr = stack->chunk + layout->chunk_data + (previous ? 0 : sizeof(u64));
	}
	stack->top = addr + sz;
	return addr;
}

static void pop_room(struct sim_interpreter *sim, struct sim_stack *stack, u64 addr)
{
	const struct py_layout *layout = sim->layout;

	stack->top = addr;
	if (addr == stack->chunk + layout->chunk_data) {
		u64 previous, words;

		sim_read(sim->memory, stack->chunk + layout->chunk_previous, &previous, sizeof(previous));
		sim_read(sim->memory, previous + layout->chunk_top, &words, sizeof(words));
		free_chunk(sim, stack->chunk);
		stack->chunk = previous;
		stack->top = previous + layout->chunk_data + words * sizeof(u64);
	}
}

static u64 root_frame(const struct sim_interpreter *sim, const struct sim_thread *thread)
{
	return sim->layout->traits & PY_TRAIT_BASE_FRAME ? thread->tstate + BASE_FRAME_OFF : 0;
}

static u64 leaf_addr(const struct sim_interpreter *sim, const struct sim_thread *thread,
		     const struct sim_stack *stack)
{
	return stack->cnt ? stack->frames[stack->cnt - 1].addr : root_frame(sim, thread);
}

static void put_instr(struct sim_interpreter *sim, const struct sim_frame *frame)
{
	const struct py_layout *layout = sim->layout;
	u64 addr = frame->addr + layout->frame_instr;
	s32 off = sim_instr_off(layout, frame->line);
	u64 bytecode = frame->kind == SIM_FRAME_ENTRY ? 0 : bytecode_of(sim, frame->code, frame->index);

	if (layout->traits & PY_TRAIT_FRAME_OBJECT)
		sim_put_u32(sim->memory, addr, (u32)(layout->traits & PY_TRAIT_LASTI_UNITS ? off / 2 : off));
	else
		sim_put_u64(sim->memory, addr, bytecode + (u64)(s64)off);
}

/* Writes what the thread state says of the current stack. */
static void put_state(struct sim_interpreter *sim, const struct sim_thread *thread)
{
	const struct py_layout *layout = sim->layout;
	const struct sim_stack *stack = &thread->stacks[thread->current];
	u64 leaf = leaf_addr(sim, thread, stack);

	if (!(layout->traits & PY_TRAIT_FRAME_OBJECT)) {
		sim_put_u64(sim->memory, thread->tstate + layout->tstate_datastack_chunk, stack->chunk);
		sim_put_u64(sim->memory, thread->tstate + layout->tstate_datastack_top, stack->top);
	}
	if (layout->traits & PY_TRAIT_CFRAME) {
		sim_put_u64(sim->memory, thread->tstate + layout->tstate_frame, stack->cframe);
		/* The root cframe never has a frame. */
		if (stack->cnt)
			sim_put_u64(sim->memory, stack->cframe + layout->cframe_current_frame, leaf);
	} else {
		sim_put_u64(sim->memory, thread->tstate + layout->tstate_frame, leaf);
	}
}

/* Up to 3.10. Objects may lie anywhere, so on the data stack, too. */
static void put_object(struct sim_interpreter *sim, const struct sim_frame *frame, u64 previous)
{
	const struct py_layout *layout = sim->layout;
	bool is_generator = frame->kind == SIM_FRAME_GENERATOR;

	sim_put_u64(sim->memory, frame->addr + layout->object_type, sim->interp);
	sim_put_u64(sim->memory, frame->addr + layout->frame_executable, sim->codes[frame->code].addr);
	sim_put_u64(sim->memory, frame->addr + layout->frame_previous, previous);
	sim_put_u64(sim->memory, frame->addr + layout->frame_owner,
		    is_generator ? sim->generators[frame->generator].addr : 0);
	put_instr(sim, frame);
}

static void put_frame(struct sim_interpreter *sim, const struct sim_frame *frame, u64 previous)
{
	const struct py_layout *layout = sim->layout;
	const u8 owners[] = {
		[SIM_FRAME_ORDINARY] = 0, [SIM_FRAME_GENERATOR] = 1, [SIM_FRAME_ENTRY] = layout->owner_entry};
	u64 code = frame->kind == SIM_FRAME_ENTRY ? 0 : sim->codes[frame->code].addr;

	if (layout->traits & PY_TRAIT_FRAME_OBJECT) {
		put_object(sim, frame, previous);
		return;
	}
	sim_put_u64(sim->memory, frame->addr + layout->frame_executable, code ? tagged(sim, code) : 0);
	sim_put_u64(sim->memory, frame->addr + layout->frame_previous, previous);
	put_instr(sim, frame);
	if (has_copies(sim))
		sim_put_u32(sim->memory, frame->addr + layout->frame_tlbc_index, frame->index);
	sim_put_u8(sim->memory, frame->addr + layout->frame_owner, owners[frame->kind]);
	if (layout->traits & PY_TRAIT_IS_ENTRY)
		sim_put_u8(sim->memory, frame->addr + layout->frame_is_entry, frame->is_entry);
}

/* A new evaluation: room on the C stack, its cframe (3.11, 3.12) and its entry frame (3.12+). Returns what
 * the first frame's `previous` is. */
static u64 enter(struct sim_interpreter *sim, struct sim_thread *thread, struct sim_stack *stack,
		 struct sim_frame *first)
{
	const struct py_layout *layout = sim->layout;
	u64 previous = leaf_addr(sim, thread, stack);
	u64 sp_before = stack->sp;
	u64 cframe = 0;

	stack->sp -= ENTRY_SZ + sim_below(sim->random, 8) * 16;
	if (layout->traits & PY_TRAIT_CFRAME) {
		cframe = stack->sp + CFRAME_OFF;
		sim_put_u64(sim->memory, cframe + layout->cframe_previous, stack->cframe);
		stack->cframe = cframe;
	}
	first->is_entry = true;
	first->sp_before = sp_before;
	first->cframe = cframe;
	if (layout->traits & PY_TRAIT_OWNER_ENTRY) {
		struct sim_frame *entry = &stack->frames[stack->cnt];

		*entry = (struct sim_frame){.kind = SIM_FRAME_ENTRY, .addr = stack->sp};
		put_frame(sim, entry, previous);
		stack->cnt++;
		previous = entry->addr;
	}
	return previous;
}

static void leave(struct sim_interpreter *sim, struct sim_stack *stack, const struct sim_frame *first)
{
	const struct py_layout *layout = sim->layout;

	if (layout->traits & PY_TRAIT_CFRAME)
		sim_read(sim->memory, first->cframe + layout->cframe_previous, &stack->cframe,
			 sizeof(stack->cframe));
	if (layout->traits & PY_TRAIT_OWNER_ENTRY)
		stack->cnt--;
	stack->sp = first->sp_before;
}

static bool has_room(const struct sim_interpreter *sim, const struct sim_stack *stack)
{
	u32 used = 0;

	for (u32 i = 0; i < SIM_CHUNKS; i++)
		used += sim->chunk_is_used[i];
	return stack->cnt + 2 <= SIM_DEPTH_MAX && used < SIM_CHUNKS - 1 &&
	       (stack->sp - SIM_BASE - CSTACK_OFF) % CSTACK_SZ > 1024;
}

static void set_line(struct sim_interpreter *sim, struct sim_frame *frame, u32 line)
{
	frame->line = line;
	put_instr(sim, frame);
}

/* The leaf goes on: it has come past its RESUME. */
static void run_own_copy(struct sim_interpreter *sim, struct sim_thread *thread)
{
	struct sim_stack *stack = &thread->stacks[thread->current];
	struct sim_frame *leaf = stack->cnt ? &stack->frames[stack->cnt - 1] : NULL;
	u32 index = (u32)(thread - sim->threads);

	if (!has_copies(sim) || !leaf || leaf->kind == SIM_FRAME_ENTRY || leaf->index == index)
		return;
	if (index)
		make_copy(sim, leaf->code, index);
	leaf->index = index;
	sim_put_u32(sim->memory, leaf->addr + sim->layout->frame_tlbc_index, index);
	set_line(sim, leaf, leaf->line);
}

static void push(struct sim_interpreter *sim, struct sim_thread *thread, struct sim_frame frame, bool from_c)
{
	struct sim_stack *stack = &thread->stacks[thread->current];
	u32 index = (u32)(thread - sim->threads);
	u64 previous;

	run_own_copy(sim, thread);
	if (frame.kind == SIM_FRAME_ORDINARY)
		frame.index = sim->codes[frame.code].copies[index] ? index : 0;
	if (!stack->cnt || from_c)
		previous = enter(sim, thread, stack, &frame);
	else
		previous = leaf_addr(sim, thread, stack);
	stack->frames[stack->cnt] = frame;
	put_frame(sim, &frame, previous);
	stack->cnt++;
	sim->codes[frame.code].users++;
	put_state(sim, thread);
}

/* The leaf's caller goes on behind the call. */
static void next_line(struct sim_interpreter *sim, struct sim_thread *thread)
{
	struct sim_stack *stack = &thread->stacks[thread->current];
	struct sim_frame *leaf = stack->cnt ? &stack->frames[stack->cnt - 1] : NULL;

	if (!leaf || leaf->kind == SIM_FRAME_ENTRY)
		return;
	run_own_copy(sim, thread);
	set_line(sim, leaf, sim_below(sim->random, SIM_LINES));
}

static void call(struct sim_interpreter *sim, struct sim_thread *thread)
{
	struct sim_stack *stack = &thread->stacks[thread->current];
	struct sim_frame frame = {.kind = SIM_FRAME_ORDINARY, .line = sim_below(sim->random, SIM_LINES)};

	if (!has_room(sim, stack))
		return;
	/* A recursion, or any function. */
	frame.code = stack->cnt && stack->frames[stack->cnt - 1].kind != SIM_FRAME_ENTRY &&
				     sim_chance(sim->random, 3)
			     ? stack->frames[stack->cnt - 1].code
			     : pick_code(sim);
	frame.sz =
		(sim->layout->frame_sz + 7u) / 8 * 8 +
		8 * (sim_chance(sim->random, 10) ? sim_below(sim->random, 300) : sim_below(sim->random, 12));
	frame.addr = push_room(sim, stack, frame.sz);
	push(sim, thread, frame, sim_chance(sim->random, 5));
}

static void pop(struct sim_interpreter *sim, struct sim_thread *thread)
{
	struct sim_stack *stack = &thread->stacks[thread->current];
	struct sim_frame frame = stack->frames[--stack->cnt];

	if (frame.is_entry)
		leave(sim, stack, &frame);
	sim->codes[frame.code].users--;
	if (frame.kind == SIM_FRAME_ORDINARY) {
		pop_room(sim, stack, frame.addr);
	} else {
		struct sim_generator *generator = &sim->generators[frame.generator];

		generator->is_running = false;
		generator->line = frame.line;
		generator->index = frame.index;
		sim_put_u64(sim->memory, frame.addr + sim->layout->frame_previous, 0);
		/* At its end, or suspended. */
		if (sim_chance(sim->random, 4)) {
			generator->is_alive = false;
			sim->codes[generator->code].users--;
		}
	}
	put_state(sim, thread);
	next_line(sim, thread);
}

static void resume(struct sim_interpreter *sim, struct sim_thread *thread)
{
	struct sim_stack *stack = &thread->stacks[thread->current];
	u32 idx = sim_below(sim->random, SIM_GENERATORS);
	struct sim_generator *generator = &sim->generators[idx];
	struct sim_frame frame = {.kind = SIM_FRAME_GENERATOR, .generator = idx};
	/* 3.11 resumes them by a call through C only. */
	bool from_c = (sim->layout->traits & PY_TRAIT_IS_ENTRY) || sim_chance(sim->random, 3);

	if (!has_room(sim, stack) || generator->is_running)
		return;
	/* A root that looks like one that is being thrown into (bpf/object_walk.bpf.h). */
	if ((sim->layout->traits & PY_TRAIT_FRAME_OBJECT) && !stack->cnt)
		return;
	if (!generator->is_alive) {
		*generator = (struct sim_generator){
			.addr = SIM_BASE + GENERATOR_OFF + (u64)idx * GENERATOR_SZ,
			.code = pick_code(sim),
			.is_alive = true,
		};
		sim->codes[generator->code].users++;
	}
	generator->is_running = true;
	frame.code = generator->code;
	frame.line = generator->line;
	frame.index = generator->index;
	frame.addr = generator->addr + GENERATOR_FRAME_OFF;
	push(sim, thread, frame, from_c);
}

static void replace_code(struct sim_interpreter *sim, u32 idx, bool anew)
{
	if (sim->codes[idx].users)
		return;
	if (sim->codes[idx].is_alive)
		free_code(sim, idx);
	if (anew)
		make_code(sim, idx);
}

/* Returns from a few calls and makes them again: every frame is byte for byte what it was, but some of the
 * code objects at those addresses are others. */
static void call_again(struct sim_interpreter *sim, struct sim_thread *thread)
{
	struct sim_stack *stack = &thread->stacks[thread->current];
	struct sim_frame frames[8];
	u32 caller_line = 0;
	int cnt = 0;

	while (cnt < 8 && stack->cnt > 1 && stack->frames[stack->cnt - 1].kind == SIM_FRAME_ORDINARY &&
	       !stack->frames[stack->cnt - 1].is_entry) {
		frames[cnt++] = stack->frames[stack->cnt - 1];
		caller_line = stack->frames[stack->cnt - 2].line;
		pop(sim, thread);
	}
	if (!cnt || stack->frames[stack->cnt - 1].kind == SIM_FRAME_ENTRY)
		return;
	/* From the same line as before, or from the one behind. */
	if (!sim_chance(sim->random, 4))
		set_line(sim, &stack->frames[stack->cnt - 1], caller_line);
	while (cnt-- > 0) {
		struct sim_frame *frame = &frames[cnt];

		if (sim_chance(sim->random, 2))
			replace_code(sim, frame->code, true);
		if (!sim->codes[frame->code].is_alive)
			make_code(sim, frame->code);
		frame->addr = push_room(sim, stack, frame->sz);
		push(sim, thread, *frame, false);
	}
}

/* Ids come back, as the kernel's do. */
static u32 free_tid(struct sim_interpreter *sim)
{
	u32 tid, i = 0;

	do {
		tid = 100 + sim->next_tid++ % (SIM_THREADS + 2);
		for (i = 0; i < SIM_THREADS; i++) {
			if (sim->threads[i].is_alive && sim->threads[i].tid == tid)
				break;
		}
	} while (i < SIM_THREADS);
	return tid;
}

static void start_thread(struct sim_interpreter *sim, u32 idx)
{
	const struct py_layout *layout = sim->layout;
	struct sim_thread *thread = &sim->threads[idx];
	u64 head;

	memset(thread, 0, sizeof(*thread));
	thread->tid = free_tid(sim);
	thread->is_alive = true;
	/* An address that is free: each thread has two. */
	thread->tstate = SIM_BASE + TSTATE_OFF + (u64)(2 * idx + sim_below(sim->random, 2)) * TSTATE_SZ;
	thread->thread_id = SIM_BASE + 0x100 + (u64)idx * 0x40;
	for (u32 i = 0; i < SIM_GREENLETS; i++) {
		thread->stacks[i].sp =
			SIM_BASE + CSTACK_OFF + (u64)(idx * SIM_GREENLETS + i + 1) * CSTACK_SZ - 64;
		thread->stacks[i].cframe = thread->tstate + ROOT_CFRAME_OFF;
	}
	sim_read(sim->memory, sim->interp + layout->interp_threads_head, &head, sizeof(head));
	sim_put_u64(sim->memory, thread->tstate + layout->tstate_prev, 0);
	sim_put_u64(sim->memory, thread->tstate + layout->tstate_next, head);
	if (head)
		sim_put_u64(sim->memory, head + layout->tstate_prev, thread->tstate);
	sim_put_u64(sim->memory, sim->interp + layout->interp_threads_head, thread->tstate);
	sim_put_u64(sim->memory, thread->tstate + layout->tstate_interp, sim->interp);
	sim_put_u64(sim->memory, thread->tstate + layout->tstate_thread_id, thread->thread_id);
	if (layout->traits & PY_TRAIT_BOUND_GILSTATE)
		sim_put_u32(sim->memory, thread->tstate + layout->tstate_status, 1 << 3);
	if (layout->traits & PY_TRAIT_CFRAME)
		sim_put_u64(sim->memory, thread->tstate + ROOT_CFRAME_OFF + layout->cframe_previous, 0);
	if (layout->traits & PY_TRAIT_BASE_FRAME) {
		const struct sim_frame base = {.kind = SIM_FRAME_ENTRY,
					       .addr = thread->tstate + BASE_FRAME_OFF};

		put_frame(sim, &base, 0);
		sim_put_u64(sim->memory, thread->tstate + layout->tstate_base_frame, base.addr);
	}
	put_state(sim, thread);
}

/* Those of a thread that ended, unless a suspended generator still points into one. */
static void free_unused_copies(struct sim_interpreter *sim, u32 index)
{
	bool is_used[SIM_CODES] = {0};

	if (!has_copies(sim) || !index || sim_chance(sim->random, 2))
		return;
	for (u32 i = 0; i < SIM_GENERATORS; i++) {
		if (sim->generators[i].is_alive && sim->generators[i].index == index)
			is_used[sim->generators[i].code] = true;
	}
	for (u32 i = 0; i < SIM_CODES; i++) {
		if (!is_used[i] && sim->codes[i].is_alive)
			free_copy(sim, i, index);
	}
}

static void end_thread(struct sim_interpreter *sim, struct sim_thread *thread)
{
	const struct py_layout *layout = sim->layout;
	u64 next, prev;

	for (thread->current = 0; thread->current < SIM_GREENLETS; thread->current++) {
		struct sim_stack *stack = &thread->stacks[thread->current];

		while (stack->cnt)
			pop(sim, thread);
		if (stack->chunk)
			free_chunk(sim, stack->chunk);
	}
	sim_read(sim->memory, thread->tstate + layout->tstate_next, &next, sizeof(next));
	sim_read(sim->memory, thread->tstate + layout->tstate_prev, &prev, sizeof(prev));
	if (next)
		sim_put_u64(sim->memory, next + layout->tstate_prev, prev);
	sim_put_u64(sim->memory,
		    prev ? prev + layout->tstate_next : sim->interp + layout->interp_threads_head, next);
	thread->is_alive = false;
	free_unused_copies(sim, (u32)(thread - sim->threads));
}

/* The greenlet that was switched away from left its part of the C stack to be overwritten; it gets it back
 * as it was. */
static void switch_greenlet(struct sim_interpreter *sim, struct sim_thread *thread)
{
	thread->current = sim_below(sim->random, SIM_GREENLETS);
	put_state(sim, thread);
}

void sim_start(struct sim_interpreter *sim, struct sim_memory *memory, const struct py_layout *layout,
	       struct sim_random *random, u32 serial)
{
	memset(memory, 0, sizeof(*memory));
	memset(sim, 0, sizeof(*sim));
	sim->memory = memory;
	sim->layout = layout;
	sim->random = random;
	sim->runtime = SIM_BASE + RUNTIME_OFF;
	sim->interp = SIM_BASE + INTERP_OFF;
	sim->next_serial = serial;
	sim->next_version = 1 + sim_below(random, 1000);
	sim_put_u64(memory, sim->runtime + layout->runtime_interpreters_head, sim->interp);
	for (u32 i = 0; i < SIM_CODES; i++)
		make_code(sim, i);
	start_thread(sim, 0);
}

void sim_step(struct sim_interpreter *sim)
{
	u32 idx = sim_below(sim->random, SIM_THREADS);
	struct sim_thread *thread = &sim->threads[idx];
	u32 what = sim_below(sim->random, 1000);

	if (!thread->is_alive) {
		if (sim_chance(sim->random, 50))
			start_thread(sim, idx);
		return;
	}
	if (what < 2)
		end_thread(sim, thread);
	else if (what < 12)
		switch_greenlet(sim, thread);
	else if (what < 60)
		replace_code(sim, sim_below(sim->random, SIM_CODES), sim_chance(sim->random, 2));
	else if (what < 110)
		call_again(sim, thread);
	else if (what < 400)
		next_line(sim, thread);
	else if (what < 500)
		resume(sim, thread);
	else if (what < 760)
		call(sim, thread);
	else if (thread->stacks[thread->current].cnt)
		pop(sim, thread);
}

size_t sim_truth_of(const struct sim_interpreter *sim, const struct sim_thread *thread,
		    struct sim_truth ret_frames[SIM_DEPTH_MAX])
{
	const struct sim_stack *stack = &thread->stacks[thread->current];
	size_t cnt = 0;

	for (u32 i = stack->cnt; i > 0; i--) {
		const struct sim_frame *frame = &stack->frames[i - 1];

		if (frame->kind == SIM_FRAME_ENTRY)
			continue;
		ret_frames[cnt++] = (struct sim_truth){
			.addr = frame->addr,
			.code = sim->codes[frame->code].addr,
			.serial = sim->codes[frame->code].serial,
			.line = frame->line,
		};
	}
	return cnt;
}
