# SPDX-License-Identifier: Apache-2.0
"""Names in Latin-1, UCS-2 and UCS-4, very long ones, files with odd names."""
import time

from truth import DEAD, record

LONG = "long_" * 60


def chain(name, path, callee):
    names = {"callee": callee}
    exec(compile(f"def {name}():\n\n    return callee()\n", path, "exec"), names)
    return names[name]


def leaf():
    record(); time.sleep(DEAD)


call = leaf
call = chain("café", "latin-é.py", call)
call = chain("имя", "путь/файл.py", call)
call = chain("名前", "ファイル.py", call)
call = chain("\U00010348x", "\U0001f40d.py", call)
call = chain(LONG, "/" + "d" * 300 + "/file.py", call)
call = chain("plain", "with space;semi\nline.py", call)
call()
