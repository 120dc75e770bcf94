#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a vmlinux.h with only the types that a root list names.

    reduce_btf.py ROOTS BTF.json     (BTF.json: bpftool -j btf dump file ...)

A struct keeps the listed fields, and offsets are not kept: CO-RE relocates every access by field name. What a
field holds by value comes along whole unless the list names it; what it points to is only declared.
"""
import json
import sys


class Reducer:
    def __init__(self, types):
        self.types = {item["id"]: item for item in types}
        self.by_name = {}
        for item in types:
            kind = {"UNION": "STRUCT", "ENUM64": "ENUM"}.get(item["kind"], item["kind"])
            self.by_name.setdefault((kind, item.get("name")), item["id"])
        self.fields = {}  # type id -> wanted field names, None for all
        self.declared = set()
        self.done = set()
        self.out = []

    # C text -----------------------------------------------------------------------------------

    def declaration(self, type_id, name, need):
        """`name` declared as this type. Types that it holds by value are printed first, unless `need` is None."""
        if type_id == 0:
            return f"void {name}".rstrip()
        item = self.types[type_id]
        kind = item["kind"]
        if kind == "PTR":
            return self.pointer(item["type_id"], name)
        if kind == "ARRAY":
            return self.declaration(item["type_id"], f"{name}[{item['nr_elems']}]", need)
        if kind in ("CONST", "VOLATILE", "RESTRICT", "TYPE_TAG"):
            qualifier = {"CONST": "const ", "VOLATILE": "volatile "}.get(kind, "")
            return qualifier + self.declaration(item["type_id"], name, need)
        if kind == "FUNC_PROTO":
            parameters = [self.declaration(p["type_id"], "", None) for p in item["params"]] or ["void"]
            if item["params"] and item["params"][-1]["type_id"] == 0:
                parameters[-1] = "..."
            return self.declaration(item["ret_type_id"], f"{name}({', '.join(parameters)})", None)
        return f"{self.spelled(item, need)} {name}".rstrip()

    def pointer(self, target, name):
        item = self.types.get(target)
        while item and item["kind"] in ("CONST", "VOLATILE", "RESTRICT", "TYPE_TAG"):
            item = self.types.get(item["type_id"])
        if item and item["kind"] == "FUNC_PROTO":
            return f"void *{name}"  # nobody calls the kernel's functions from here
        name = f"(*{name})" if item and item["kind"] == "ARRAY" else f"*{name}"
        return self.declaration(target, name, None)

    def spelled(self, item, need):
        kind, name = item["kind"], item.get("name", "(anon)")
        if kind in ("INT", "FLOAT"):
            return name
        if kind == "TYPEDEF":
            self.define(item["id"])
            return name
        if kind == "FWD":
            self.declare(f"{item['fwd_kind']} {name}")
            return f"{item['fwd_kind']} {name}"
        if kind in ("ENUM", "ENUM64"):
            if name == "(anon)":
                return self.enum_body(item, "")
            self.define(item["id"])
            return f"enum {name}"
        tag = kind.lower()
        if name == "(anon)":
            return f"{tag} {self.body(item)}"
        if need is None:
            self.declare(f"{tag} {name}")
        else:
            self.define(item["id"])
        return f"{tag} {name}"

    def enum_body(self, item, name):
        # bpftool sign-extends the 32-bit ones.
        mask = 0xFFFFFFFF if item["kind"] == "ENUM" else 0xFFFFFFFFFFFFFFFF
        values = "".join(f"\t{v['name']} = {v['val'] & mask if v['val'] > 0 else v['val']},\n" for v in item["values"])
        return f"enum {name + ' ' if name else ''}{{\n{values}}}"

    def body(self, item, wanted=None):
        members = []
        self.members(item, wanted, members)
        return "{\n" + "".join(f"\t{line};\n" for line in members) + "}"

    def members(self, item, wanted, lines):
        for member in item["members"]:
            name = member["name"]
            if name == "(anon)":
                inner = self.unqualified(member["type_id"])
                if wanted is None:
                    lines.append(self.declaration(member["type_id"], "", []).replace("\n", "\n\t"))
                elif inner["kind"] in ("STRUCT", "UNION"):
                    self.members(inner, wanted, lines)
                continue
            if wanted is not None and name not in wanted:
                continue
            width = f" : {member['bitfield_size']}" if member.get("bitfield_size") else ""
            lines.append(self.declaration(member["type_id"], name, []).replace("\n", "\n\t") + width)

    def unqualified(self, type_id):
        item = self.types[type_id]
        while item["kind"] in ("CONST", "VOLATILE", "RESTRICT", "TYPE_TAG"):
            item = self.types[item["type_id"]]
        return item

    # what is printed, in order --------------------------------------------------------------------

    def declare(self, text):
        if text not in self.declared:
            self.declared.add(text)
            self.out.append(f"{text};\n")

    def define(self, type_id):
        if type_id in self.done:
            return
        self.done.add(type_id)
        item = self.types[type_id]
        name = item["name"]
        if item["kind"] == "TYPEDEF":
            self.out.append(f"typedef {self.declaration(item['type_id'], name, [])};\n")
        elif item["kind"] in ("ENUM", "ENUM64"):
            self.out.append(f"\n{self.enum_body(item, '' if name == '(anon)' else name)};\n")
        else:
            text = self.body(item, self.fields.get(type_id))
            self.out.append(f"\n{item['kind'].lower()} {name} {text};\n")


def read_roots(path):
    with open(path) as file:
        for line in file:
            words = line.split("#")[0].replace(":", " ").split()
            if words:
                yield words[0], words[1], words[2:] if words[0] == "struct" else words[1:]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2]) as file:
        reducer = Reducer(json.load(file)["types"])
    wanted = []
    for kind, name, rest in read_roots(sys.argv[1]):
        if kind == "values":
            wanted += [item["id"] for item in reducer.types.values() if item["kind"] in ("ENUM", "ENUM64")
                       and item["name"] == "(anon)" and any(value["name"] in rest for value in item["values"])]
            continue
        optional, name = name.endswith("?"), name.rstrip("?")
        type_id = reducer.by_name.get((kind.upper(), name))
        if type_id is None:
            if not optional:
                print(f"reduce_btf: this kernel has no {kind} {name}, left out", file=sys.stderr)
            continue
        if kind == "struct":
            reducer.fields[type_id] = None if rest == ["*"] else set(rest)
        wanted.append(type_id)
    for type_id in wanted:
        reducer.define(type_id)
    print("".join(reducer.out), end="")


if __name__ == "__main__":
    main()
