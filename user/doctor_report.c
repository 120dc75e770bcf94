/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor_report.h"

#include <errno.h>

#include "base/printable.h"
#include "export/json_text.h"

enum { TITLE_COLUMNS = 44 };

static const struct {
	const char *name; /* in JSON */
	const char *color;
} STATES[] = {
	[FEATURE_STATE_UNPROBED] = {"unprobed", ""},
	[FEATURE_STATE_PRESENT] = {"present", "\x1b[32m"},
	[FEATURE_STATE_LIMITED] = {"limited", "\x1b[33m"},
	[FEATURE_STATE_MISSING] = {"missing", "\x1b[31m"},
	[FEATURE_STATE_INFO] = {"info", ""},
};

static bool needs_advice(const struct feature_result *result)
{
	return result->state == FEATURE_STATE_MISSING || result->state == FEATURE_STATE_LIMITED;
}

/* What could not be tried is not known to be missing. */
static const char *state_name(const struct feature_result *result)
{
	return result->state == FEATURE_STATE_MISSING && result->denied ? "denied"
									: STATES[result->state].name;
}

static void print_feature(FILE *out, const struct features *features, enum feature_id id, bool color)
{
	const struct feature_result *result = &features->results[id];
	const struct feature_info *info = features_info(id);
	bool paint = color && STATES[result->state].color[0];
	char detail[4 * FEATURE_DETAIL_SZ];

	printable_text(detail, sizeof(detail), result->detail);
	fprintf(out, "%s%-8s%s  %-*s", paint ? STATES[result->state].color : "", state_name(result),
		paint ? "\x1b[0m" : "", detail[0] || needs_advice(result) ? TITLE_COLUMNS : 0, info->title);
	if (detail[0])
		fprintf(out, "  %s", detail);
	if (needs_advice(result))
		fprintf(out, "%s%s%s; fix: %s", detail[0] ? "; " : "  ",
			info->weight == FEATURE_OPTIONAL ? "" : "ESSENTIAL: ", info->lost,
			features_fix(features, id));
	fputc('\n', out);
}

void doctor_report_print(FILE *out, const struct features *features, bool color)
{
	char message[512];

	for (int id = 0; id < FEATURE_COUNT; id++)
		if (features->results[id].state != FEATURE_STATE_UNPROBED)
			print_feature(out, features, id, color);
	if (features_check_essential(features, message, sizeof(message)) == EXIT_CODE_OK)
		fprintf(out, "\npanopy record can run here.\n");
	else
		fprintf(out, "\npanopy record cannot run here: %s.\n", message);
}

static const char *weight_name(enum feature_weight weight)
{
	return weight == FEATURE_OPTIONAL ? "optional" : "essential";
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	char buf[4 * FEATURE_DETAIL_SZ];

	json_object_object_add(object, key,
			       *text ? json_object_new_string(printable_text(buf, sizeof(buf), text)) : NULL);
}

static struct json_object *feature_to_json(const struct features *features, enum feature_id id)
{
	const struct feature_result *result = &features->results[id];
	const struct feature_info *info = features_info(id);
	struct json_object *object = json_object_new_object();

	add_text(object, "name", info->name);
	add_text(object, "title", info->title);
	add_text(object, "weight", weight_name(info->weight));
	add_text(object, "state", state_name(result));
	add_text(object, "detail", result->detail);
	add_text(object, "lost", needs_advice(result) ? info->lost : "");
	add_text(object, "fix", needs_advice(result) ? features_fix(features, id) : "");
	return object;
}

int doctor_report_print_json(FILE *out, const struct features *features)
{
	struct json_object *root = json_object_new_object();
	struct json_object *list = json_object_new_array();
	char message[512] = "";
	enum exit_code status;

	if (!root || !list) {
		json_object_put(root);
		json_object_put(list);
		return -ENOMEM;
	}
	status = features_check_essential(features, message, sizeof(message));
	json_object_object_add(root, "can_record", json_object_new_boolean(status == EXIT_CODE_OK));
	json_object_object_add(root, "exit_status", json_object_new_int(status));
	add_text(root, "why_not", status == EXIT_CODE_OK ? "" : message);
	json_object_object_add(root, "features", list);
	for (int id = 0; id < FEATURE_COUNT; id++)
		json_object_array_add(list, feature_to_json(features, id));
	return json_text_print(out, root);
}
