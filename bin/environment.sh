# Sourced by the other commands: finds Python, makes .venv and installs the locked requirements once per lock.
# shellcheck shell=sh

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    echo "Poimen needs Python 3.11 or newer with the venv module (Debian: apt-get install python3 python3-venv)." >&2
    echo "Set PYTHON=/path/to/python if it is somewhere else." >&2
    return 1
}

# install NAME FILE...: install requirement files into .venv, unless exactly these were installed before.
install() {
    stamp=".venv/.installed-$1"
    shift
    wanted=$(cat "$@" | cksum)
    [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return 0
    echo "Installing $* into .venv; the first time this takes a minute or two ..."
    arguments=""
    for file in "$@"; do arguments="$arguments -r $file"; done
    # shellcheck disable=SC2086 # the file names are ours and have no spaces
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input $arguments || return 1
    printf '%s' "$wanted" >"$stamp"
}

# with_lock COMMAND...: one at a time, also when two of these scripts start together.
with_lock() {
    lock=".venv.lock"
    tries=0
    until mkdir "$lock" 2>/dev/null; do
        holder=$(cat "$lock/pid" 2>/dev/null) || holder=""
        tries=$((tries + 1))
        # Its owner is gone, or went before it could even leave its name.
        if { [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; } || { [ -z "$holder" ] && [ "$tries" -gt 10 ]; }; then
            rm -rf "$lock"
            tries=0
            continue
        fi
        if [ "$tries" -gt 600 ]; then
            echo "Another command has been setting up .venv for ten minutes; if none is, remove $lock." >&2
            return 1
        fi
        sleep 1
    done
    echo $$ >"$lock/pid"
    trap 'rm -rf "$lock"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    "$@" || return 1 # the exit that follows removes the lock
    rm -rf "$lock"
    trap - EXIT INT TERM
}

prepare() {
    if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
        python=$(find_python) || return 1
        echo "Making .venv with $("$python" --version) ..."
        rm -rf .venv
        "$python" -m venv .venv || return 1
    fi
    install run requirements.txt || return 1
    case " $* " in *" dev "*) install dev requirements.txt requirements-dev.txt || return 1 ;; esac
    case " $* " in
        *" bench "*) install bench requirements.txt requirements-bench.txt ||
            echo "requirements-bench.txt could not be installed: the comparison will be left out." >&2 ;;
    esac
    return 0
}
