/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that both sides must agree on. */
#ifndef PANOPY_SHARED_LIMITS_H
#define PANOPY_SHARED_LIMITS_H

enum {
	/* TASK_COMM_LEN of the kernel. */
	LIMIT_COMM_SZ = 16,

	/* Frames of one sample record. Python's default recursion limit is 1,000; programs that raise it
	 * rarely go past this. 4,096 frames of 16 bytes are the 64 KiB that one record may take. */
	LIMIT_SAMPLE_FRAMES = 4096,

	/* Frames of a sample that awaits the rest: what is shown of it should the rest never come. */
	LIMIT_AWAITING_FRAMES = 32,

	/* Chunks of LIMIT_SAMPLE_FRAMES that are read when a thread returns to user mode: 16,384 frames, at
	 * some 10 ns each. User space reads what is deeper. */
	LIMIT_RESUME_CHUNKS = 4,

	/* Frames looked at in one walk, entry frames included. They were a third of all frames in other
	 * profilers' production figures, so the visit limit is half as much again. Bounds cycles too. */
	LIMIT_WALK_VISITS = 6144,

	/* Every offset in py_layout that is applied inside a frame must end below this. The largest
	 * known frame head is 80 bytes (CPython 3.14, free-threaded). */
	LIMIT_FRAME_SPAN = 128,

	/* Likewise for the part of PyThreadState that the sampler reads (304 bytes in CPython 3.13). */
	LIMIT_TSTATE_SPAN = 512,

	/* And for the head of a code object (PyCodeObject is 208 bytes in CPython 3.15). */
	LIMIT_CODE_SPAN = 256,

	/* PyASCIIObject / PyCompactUnicodeObject: 72 bytes at most (CPython 3.11). */
	LIMIT_UNICODE_SPAN = 80,

	/* Bytes of one name that the kernel copies. Longer ones are cut there and read whole by user
	 * space. PATH_MAX would be 4,096; real paths stay below 300. */
	LIMIT_KERNEL_NAME_SZ = 512,

	/* Bytes of a location table that the kernel copies. Only modules of thousands of lines have longer
	 * ones; user space reads those. */
	LIMIT_KERNEL_LINETABLE_SZ = 16384,

	/* Bytes of a location table that take part in a content fingerprint (before CPython 3.12). */
	LIMIT_FINGERPRINT_LINETABLE_SZ = 64,

	/* New code objects whose names one sample copies, at about 1 us each. Most first samples of a
	 * program have 10-50 frames, deep ones some 200; what is over this waits for the next sample, or
	 * user space reads it. */
	LIMIT_NEW_CODES = 256,

	/* Code objects that may be unreadable before a sample asks for no more of them: each costs a fault. */
	LIMIT_UNREAD_CODES = 16,

	/* Thread states looked at in one sample to find an unknown thread. New threads are linked at the
	 * head of the list (CPython add_threadstate), so they are found at once; the rest are seeded by
	 * user space. */
	LIMIT_THREAD_SCAN = 64,

	/* And when the thread returns to user mode: half a millisecond, once a thread. */
	LIMIT_RESUME_THREAD_SCAN = 8192,

	/* Interpreters looked at in one sample. */
	LIMIT_INTERP_SCAN = 16,

	/* What user space accepts of one string or table that it reads from a target. */
	LIMIT_NAME_SZ = 16384,
	LIMIT_LINETABLE_SZ = 1 << 20,
};

#endif
