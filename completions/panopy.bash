# SPDX-License-Identifier: Apache-2.0
# bash completion for panopy; written by `panopy --bash-completion`.
# shellcheck shell=bash

_panopy()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i

    COMPREPLY=()
    # --option=value comes as three words.
    [[ $cur == = ]] && cur=
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --)
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return
            ;;
        record) command=${command:-record} ;;
        ps) command=${command:-ps} ;;
        doctor) command=${command:-doctor} ;;
        esac
    done

    case $prev in
    -p | --pid)
        mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur")
        return
        ;;
    --cgroup)
        COMPREPLY=()
        return
        ;;
    --unit)
        COMPREPLY=()
        return
        ;;
    --container)
        COMPREPLY=()
        return
        ;;
    --pod)
        COMPREPLY=()
        return
        ;;
    -u | --user)
        COMPREPLY=()
        return
        ;;
    --name)
        COMPREPLY=()
        return
        ;;
    --exe)
        COMPREPLY=()
        return
        ;;
    --python)
        COMPREPLY=()
        return
        ;;
    --exclude)
        COMPREPLY=()
        return
        ;;
    -d | --duration)
        COMPREPLY=()
        return
        ;;
    -r | --rate)
        COMPREPLY=()
        return
        ;;
    -o | --output)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --per)
        mapfile -t COMPREPLY < <(compgen -W "process thread container cgroup user none" -- "$cur")
        return
        ;;
    --split)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --summary)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --kernel-frames)
        COMPREPLY=()
        return
        ;;
    --color)
        mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$cur")
        return
        ;;
    esac

    case $command in
    record) mapfile -t COMPREPLY < <(compgen -W "--pid --cgroup --unit --container --pod --user --name --exe --python --exclude --wait --subprocesses --duration --rate --output --per --split --full-paths --no-lines --no-subprocesses --summary --strict --kernel-frames --stats --quiet --verbose --color --help" -- "$cur") ;;
    ps) mapfile -t COMPREPLY < <(compgen -W "--pid --cgroup --unit --container --pod --user --name --exe --python --exclude --subprocesses --no-subprocesses --json --quiet --verbose --color --help" -- "$cur") ;;
    doctor) mapfile -t COMPREPLY < <(compgen -W "--json --quiet --verbose --color --help" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "record ps doctor --help --version --bash-completion" -- "$cur") ;;
    esac
}

complete -F _panopy panopy
