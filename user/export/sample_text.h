/* SPDX-License-Identifier: Apache-2.0 */
/* The words for what became of a sample: the same in every output. */
#ifndef PANOPY_EXPORT_SAMPLE_TEXT_H
#define PANOPY_EXPORT_SAMPLE_TEXT_H

#include "sample.h"

/* Identifiers for JSON keys ("page_fault") and words for people ("page fault"); never NULL, an
 * unknown value gives "unknown". The empty reason's words are "". */
const char *sample_status_name(enum sample_status status);
const char *sample_status_text(enum sample_status status);
const char *sample_reason_name(enum sample_reason reason);
const char *sample_reason_text(enum sample_reason reason);

#endif
