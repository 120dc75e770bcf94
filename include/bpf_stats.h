/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that the kernel side keeps per CPU. BPF_STAT_TEXTS gives each its printed sentence; the
 * summary's JSON uses the lower-case name of the enumerator without its prefix.
 */
#ifndef PANOPY_BPF_STATS_H
#define PANOPY_BPF_STATS_H

#include "shared_types.h"

/* X(enumerator, json name, sentence) */
#define BPF_STATS(X)                                                                                         \
	X(BPF_STAT_TICKS, "ticks", "timer ticks that ran the sampler")                                       \
	X(BPF_STAT_TICKS_IDLE, "ticks_idle", "ticks on an idle CPU")                                         \
	X(BPF_STAT_TICKS_NOT_DELIVERED, "ticks_not_delivered", "ticks not delivered")                        \
	X(BPF_STAT_TICKS_NOT_DELIVERED_IDLE, "ticks_not_delivered_idle",                                     \
	  "ticks that were due and never came, next to an idle CPU's")                                       \
	X(BPF_STAT_TICKS_STOLEN, "ticks_stolen", "ticks that were due while the host ran something else")    \
	X(BPF_STAT_TICKS_WEIGHTLESS, "ticks_weightless",                                                     \
	  "ticks that came though the host had taken their time")                                            \
	X(BPF_STAT_TICKS_OTHER, "ticks_other", "ticks in processes that are not profiled")                   \
	X(BPF_STAT_TICKS_OUTSIDE, "ticks_outside", "ticks in Python processes outside of the selection")     \
	X(BPF_STAT_SAMPLES, "samples", "samples sent")                                                       \
	X(BPF_STAT_SAMPLES_DROPPED, "samples_dropped", "samples lost because the ring buffer was full")      \
	X(BPF_STAT_REPEATS, "repeats", "of them referring to a stack sent before")                           \
	X(BPF_STAT_RING_BYTES, "ring_bytes", "bytes of all records")                                         \
	X(BPF_STAT_CODES, "codes", "code objects sent")                                                      \
	X(BPF_STAT_CODES_DROPPED, "codes_dropped", "code objects not sent because the ring buffer was full") \
	X(BPF_STAT_EVENTS_DROPPED, "events_dropped", "process events lost because the ring buffer was full") \
	X(BPF_STAT_PROCESSES_FULL, "processes_full", "processes not followed because the table was full")    \
	X(BPF_STAT_RUN_NS, "run_ns", "nanoseconds spent in the sampler")                                     \
	X(BPF_STAT_SAMPLE_NS, "sample_ns", "nanoseconds spent on samples that were sent")                    \
	X(BPF_STAT_FRAMES, "frames", "frames read")                                                          \
	X(BPF_STAT_WINDOW_READS, "window_reads", "windows and single frames read")                           \
	X(BPF_STAT_FINGERPRINT_READS, "fingerprint_reads", "code objects fingerprinted")                     \
	X(BPF_STAT_THREAD_SCANS, "thread_scans", "searches for a thread's state")                            \
	X(BPF_STAT_RESUMES, "resumes", "stacks read when their thread returned to user mode")                \
	X(BPF_STAT_RESUME_FAULTS, "resume_faults", "pages brought in for that")                              \
	X(BPF_STAT_RESUME_NO_SLOT, "resume_no_slot", "stacks not read so: another thread had the slot")      \
	X(BPF_STAT_RESUME_REFUSED, "resume_refused", "stacks not read so: the kernel did not take the work") \
	X(BPF_STAT_RESUME_NO_BUFFER, "resume_no_buffer", "stacks not read so: all buffers were in use")      \
	X(BPF_STAT_RESUME_MOVED_ON, "resume_moved_on", "stacks not read so: the thread had moved on")        \
	X(BPF_STAT_RESUME_FAILED, "resume_failed",                                                           \
	  "stacks not read so: memory that is not there, or that a program would bring in")                  \
	X(BPF_STAT_RESUME_NS, "resume_ns", "nanoseconds spent on that")                                      \
	X(BPF_STAT_COMPARED, "compared", "stacks walked a second time, frame by frame")                      \
	X(BPF_STAT_COMPARED_DIFFERENT, "compared_different", "of them, those that differed")

enum bpf_stat {
#define BPF_STAT_ENUMERATOR(name, json, text) name,
	BPF_STATS(BPF_STAT_ENUMERATOR)
#undef BPF_STAT_ENUMERATOR
		BPF_STAT_COUNT
};

#endif
