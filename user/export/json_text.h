/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as all of panopy's documents are written: indented, one line feed at the end. Both take the object over. */
#ifndef PANOPY_EXPORT_JSON_TEXT_H
#define PANOPY_EXPORT_JSON_TEXT_H

#include <json-c/json.h>
#include <stdio.h>

/* The text is the caller's to free. -ENOMEM. */
int json_text_format(char **ret_text, struct json_object *root);
/* -ENOMEM, or what the write failed with. */
int json_text_print(FILE *out, struct json_object *root);

#endif
