/* SPDX-License-Identifier: Apache-2.0 */
#include "export/json_text.h"

#include <errno.h>
#include <stdlib.h>

int json_text_format(char **ret_text, struct json_object *root)
{
	const char *text = json_object_to_json_string_ext(
		root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *copy = NULL;

	if (!text || asprintf(&copy, "%s\n", text) < 0)
		copy = NULL;
	json_object_put(root);
	if (!copy)
		return -ENOMEM;
	*ret_text = copy;
	return 0;
}

int json_text_print(FILE *out, struct json_object *root)
{
	char *text;
	int err = json_text_format(&text, root);

	if (err)
		return err;
	errno = 0;
	if (fputs(text, out) < 0 || fflush(out))
		err = errno ? -errno : -EIO;
	free(text);
	return err;
}
