/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `panopy doctor`: probed features in, text or JSON out. */
#ifndef PANOPY_DOCTOR_REPORT_H
#define PANOPY_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "kernel/features.h"

/* One line a feature, then whether `record` can run. */
void doctor_report_print(FILE *out, const struct features *features, bool color);
/* Keys: docs/panopy.1, section JSON. 0, -ENOMEM or -EIO. */
int doctor_report_print_json(FILE *out, const struct features *features);

#endif
