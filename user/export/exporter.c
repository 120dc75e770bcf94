/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include <string.h>

#include "export/folded.h"

static const struct exporter_ops *const exporters[] = {&folded_exporter};

const struct exporter_ops *exporter_find(const char *name)
{
	for (size_t i = 0; i < sizeof(exporters) / sizeof(exporters[0]); i++) {
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	}
	return NULL;
}

int exporter_write(const struct exporter_ops *ops, const struct exporter_input *input, const char *path)
{
	struct atomic_file *file;
	int err = atomic_file_open(&file, path);

	if (err)
		return err;
	if (input->keep_existing)
		atomic_file_keep_existing(file);
	err = ops->write(input, file);
	if (err) {
		atomic_file_discard(file);
		return err;
	}
	return atomic_file_commit(file);
}

int exporter_split(const struct exporter_ops *ops, const struct exporter_input *input, const char *path,
		   size_t *ret_cnt)
{
	struct split_dir *dir;
	int err = split_dir_new(&dir, path, ops->suffix);

	if (err)
		return err;
	err = ops->split(input, dir);
	if (!err)
		err = split_dir_finish(dir);
	*ret_cnt = split_dir_count(dir);
	split_dir_free(dir);
	return err;
}
