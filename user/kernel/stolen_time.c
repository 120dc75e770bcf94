/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/stolen_time.h"

#include <bpf/btf.h>
#include <stdbool.h>
#include <string.h>

/* Linux 5.10 to 6.18, include/asm-generic/percpu_types.h: the one section of per-CPU variables. */
static const char PER_CPU_SECTION[] = ".data..percpu";

static bool is_called(const struct btf *btf, const struct btf_type *type, const char *name)
{
	const char *known = type ? btf__name_by_offset(btf, type->name_off) : NULL;

	return known && strcmp(known, name) == 0;
}

static bool find_off(const struct btf *btf, const struct btf_type *section, const char *name,
		     const char *type_name, s64 *ret_off)
{
	const struct btf_var_secinfo *vars = btf_var_secinfos(section);

	for (int i = 0; i < btf_vlen(section); i++) {
		const struct btf_type *var = btf__type_by_id(btf, vars[i].type);

		if (is_called(btf, var, name) && is_called(btf, btf__type_by_id(btf, var->type), type_name)) {
			*ret_off = vars[i].offset;
			return true;
		}
	}
	return false;
}

s64 stolen_time_off(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, PER_CPU_SECTION, BTF_KIND_DATASEC) : -1;
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, id) : NULL;
	s64 queue_off, counter_off, off = 0;

	if (section && find_off(btf, section, "runqueues", "rq", &queue_off) &&
	    find_off(btf, section, "steal_time", "kvm_steal_time", &counter_off))
		off = counter_off - queue_off;
	btf__free(btf);
	return off;
}
