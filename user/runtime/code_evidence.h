/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine code of two of CPython's functions says about a build whose symbols say less (3.6 to 3.10,
 * x86-64). Looked at as bytes of a file that may be anything.
 */
#ifndef PANOPY_RUNTIME_CODE_EVIDENCE_H
#define PANOPY_RUNTIME_CODE_EVIDENCE_H

#include "runtime/elf_image.h"

/* PY_VERSION_HEX by the text ("3.9.18") that Py_GetVersion() formats: an address in its code leads to it.
 * -ENOENT: to none, or to several that differ. Else the errors of reading. */
int code_evidence_version(struct elf_image *image, const struct elf_symbol *function, u32 *ret_version);

/* The address of the variable of 8 bytes that a function returns, when it does nothing else
 * (PyInterpreterState_Head). -ENOENT: it is no such function. Else the errors of reading. */
int code_evidence_returned_variable(struct elf_image *image, const struct elf_symbol *function,
				    u64 *ret_addr);

/* "3.9.18", "3.10.0rc2" or "3.8.3+" as PY_VERSION_HEX; 0 for any other text. */
u32 code_evidence_parse_version(const char *text);

#endif
