# SPDX-License-Identifier: Apache-2.0
"""create() an interpreter, run(it, text), destroy(it), by what the version has (3.8+)."""
try:
    import _interpreters as module  # 3.13
except ImportError:
    import _xxsubinterpreters as module

run = getattr(module, "exec", None) or module.run_string
create, destroy = module.create, module.destroy


def create_sharing():
    """One that has the main one's GIL, also where that is not what create() makes (3.12+)."""
    if not hasattr(module, "get_config"):
        return create(isolated=False)
    interpreter = create("legacy")
    assert module.get_config(interpreter).gil == "shared"
    return interpreter
