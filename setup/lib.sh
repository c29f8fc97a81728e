# shellcheck shell=bash
# What `windtunnel quickstart` and `test` share: packages, Python environment, build. Sourced with $root set to the checkout.
# Everything here looks first and does only what is missing, so that a second time needs no network.

root=${root:?"the checkout, set by whoever sources this"}
venv=$root/.venv
build=$root/build
requirements=$root/setup/requirements
unset PYTHONDONTWRITEBYTECODE # many Pythons start, and each would compile all that it imports
PATH=$PATH:/usr/sbin:/sbin # where ordinary users of Debian do not look: ip, ethtool

say() { printf '%s\n' "$*" >&2; }

# refuse WHAT REMEDY...: for what the user can mend
refuse() {
    say "error: $1"
    shift
    printf '  %s\n' "$@" >&2
    exit 2
}

# A Python that is new enough, by name; python3 is taken when it will do.
find_python() {
    local name
    for name in python3 python3.{20..11}; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            printf '%s\n' "$name"
            return
        fi
    done
    return 1
}

# workers [PER_CPU]: how many processes at once, one per CPU if not told. At most four, because they share what else the machine has.
workers() {
    local count
    count=$(($(nproc) * ${1-1}))
    printf '%s\n' $((count < 4 ? count : 4))
}

# Whether all that Windtunnel depends on is there as wheels: ruptures has none for Python 3.14, and is compiled there
python_has_wheels() { "$(find_python)" -c 'import sys; sys.exit(sys.version_info >= (3, 14))'; }

# python_has_header FILE: of Python's C interface
python_has_header() { [[ -e $("$(find_python)" -c 'import sysconfig; print(sysconfig.get_path("include"))')/$1 ]]; }

# there CHECK ARGUMENT: whether a line of setup/packages is fulfilled, by whatever means it was installed
there() {
    case $1 in
        command) command -v "$2" ;;
        pkg-config) pkg-config --exists "$2" ;;
        python) find_python ;;
        python-module) "$(find_python)" -c "import $2" ;;
        python-header) python_has_wheels || python_has_header "$2" ;;
        clang-runtime) [[ -e $(clang --print-file-name="libclang_rt.$2-$(uname -m).a") ]] ;;
        *) false ;;
    esac >/dev/null 2>&1
}

# missing build|test: the packages that are not there, one a line
missing() {
    local purpose package check argument
    while read -r purpose package check argument; do
        if [[ $purpose == build || $purpose == "$1" ]] && ! there "$check" "$argument"; then
            printf '%s\n' "$package"
        fi
    done <"$root/setup/packages"
}

# refuse_unknown PACKAGE...: refuses where this system's package lists lack one, and says what would do in its place
refuse_unknown() {
    local package check argument unknown=()
    while read -r _ package check argument; do
        [[ " $* " == *" $package "* ]] || continue
        apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package: what counts is the $check${argument:+ $argument}")
    done <"$root/setup/packages"
    ((${#unknown[@]} == 0)) || refuse "this system's package lists do not have all packages by Debian's names" "${unknown[@]}" \
        "install these by other means (another repository, from source), and call this again: what is there already is not asked for"
}

# install_packages build|test
install_packages() {
    local packages
    mapfile -t packages < <(missing "$1")
    ((${#packages[@]})) || return 0
    say "missing: ${packages[*]}"

    if ! command -v apt-get >/dev/null; then
        refuse "this system has no apt-get, and these are not there: ${packages[*]} (Debian's names)" \
            "needed: a C++20 compiler, meson >= 1.0, ninja, pkg-config, DPDK >= 22.11 with its headers, libpcap," \
            "nlohmann-json, GoogleTest, zlib, Python >= 3.11 with venv; for ./test also dpdk-testpmd, tshark, ethtool," \
            "iproute2, ping, make, clang with its sanitizers. Install them with this system's package manager and call this again."
    fi
    local as_root=() command="apt-get update && apt-get install --no-install-recommends ${packages[*]}"
    if ((EUID != 0)); then
        command -v sudo >/dev/null || refuse "installing packages needs root, and there is no sudo" "as root, type: $command"
        command=${command//apt-get/sudo apt-get}
        as_root=(sudo)
        [[ -t 0 ]] || as_root+=(-n) # nobody there who could type a password
    fi
    if [[ -t 0 ]]; then
        local answer
        read -r -p "Install with \"$command\"? [Y/n] " answer || answer=n
        [[ $answer =~ ^([yY].*)?$ ]] || refuse "not installed" "type: $command"
    fi
    if ((EUID != 0)) && ! "${as_root[@]}" true; then
        refuse "installing packages needs root" "as a user who may use sudo, type: $command"
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive) # tshark has a question, and nobody may be there to answer
    "${as_root[@]}" apt-get -q update || say "apt-get update failed: going on with the package lists that are there"
    "${as_root[@]}" apt-get -q install -y --no-install-recommends "${packages[@]}" || {
        refuse_unknown "${packages[@]}"
        refuse "apt-get could not install the packages (see above)" "once that is mended, type: $command"
    }

    mapfile -t packages < <(missing "$1")
    ((${#packages[@]} == 0)) ||
        refuse "still not there, or too old: ${packages[*]}" \
            "setup/packages says what is looked for; Debian 12 and 13 have it all"
}

# make_venv run|test: `run` has what every command needs, `test` adds what the tests import and serves `run` as well
make_venv() {
    local stamp
    stamp=$(venv_stamp)
    if venv_has test "$stamp" || venv_has "$1" "$stamp"; then return 0; fi
    [[ ! -L $venv ]] || refuse "$venv is a link, and what it leads to would be cleared" "type: rm $(printf %q "$venv")"
    say "making the Python environment in .venv"
    if ! { venv_has run "$stamp" || "$(find_python)" -m venv --clear "$venv"; } || ! install_locked "$venv" "$1"; then
        say "error: the Python environment could not be made (see above)"
        say "  the first time, pip needs a network; call this again once there is one"
        exit 1
    fi
    printf '%s' "$stamp" >"$venv/.set-up-$1"
}

# venv_stamp: what an environment is made from. The path belongs to it: an environment does not survive a move
venv_stamp() { printf '%s\n' "$venv" | cat - "$root"/{,sharing/}pyproject.toml "$requirements"/{run,test}.txt | sha256sum; }

# `su` keeps it, and whoever owns it would choose the program that pip starts.
((EUID != 0)) || unset XDG_CONFIG_HOME

# install_python ENVIRONMENT ARGUMENT...: by pip. Bytecode comes when a module is first imported: most never are
install_python() { "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "${@:2}"; }

# install_locked ENVIRONMENT run|test|mutants: the packages that ./test lock has found, each file of the hash that it had then, and
# this checkout
install_locked() {
    install_python "$1" --require-hashes --requirement "$requirements/$2.txt" &&
        install_python "$1" --no-deps --no-build-isolation --editable "$root" --editable "$root/sharing"
}

# install_newest ENVIRONMENT: makes it, with the newest packages that pyproject.toml allows, whatever is locked
install_newest() {
    "$(find_python)" -m venv --clear "$1" && install_python "$1" --editable "$root[test,docs]" --editable "$root/sharing"
}

# venv_has run|test STAMP: whether it was made from these pyproject.toml, here, and its Python is still there
venv_has() {
    [[ -e $venv/.set-up-$1 && $(<"$venv/.set-up-$1") == "$2" ]] && "$venv/bin/python" -c 'import windtunnel, windtunnel_sharing' 2>/dev/null
}

# fetch_for_parts: what the builds of parts need from the network, into the checkout. Each says what it will lack, and the rest does without
fetch_for_parts() {
    local fetch
    for fetch in "$root"/engine/parts/*/fetch; do
        [[ ! -e $fetch ]] || "$fetch" || true
    done
}

# without_streams: whether the build that is there has no TCP. Files that are compiled at once stand in no build.ninja.
without_streams() { grep -qs 'parts/streams/missing\.cc' "$build"/engine/librun.a.p/*unity*; }

# streams_possible: whether a build would have TCP now
streams_possible() {
    python3 "$root/engine/parts/streams/find_rust.py" cargo "$root/engine/parts/streams/tcp/Cargo.toml" 2>/dev/null
}

# to_build_with: what an engine has more of where it is there, and can be there now
to_build_with() {
    local library
    for library in libfabric libibverbs librdmacm libisal; do
        printf '%s %s\n' "$library" "$(pkg-config --modversion "$library" 2>/dev/null)"
    done
    printf '%s\n' "$root"/.dpdk/*/*.h
    ! there clang-runtime fuzzer || printf 'fuzzers\n'
    ! streams_possible || printf 'streams\n'
}

# build_engine TARGET: what is out of date of it; progress goes to stderr
build_engine() {
    fetch_for_parts
    local now
    now=$(to_build_with)
    # a build directory remembers absolute paths: one that came with a moved or copied checkout is of no use. Its own
    # path is in there with the meson of Debian 12, and "." with newer ones
    if [[ -e $build/build.ninja ]] && ! grep -qF -- "--internal regenerate $root " "$build/build.ninja"; then
        rm -rf -- "$build"
    fi
    if [[ ! -e $build/build.ninja ]]; then
        # headers precompiled save a third of the build; ccache, where meson finds it, saves more and cannot do with them
        local pch=true
        ! command -v ccache >/dev/null || pch=false
        meson setup "$build" "$root" -Db_pch=$pch >&2
    elif [[ $now != "$(cat -- "$build/.built-with" 2>/dev/null)" ]]; then
        meson setup --reconfigure "$build" "$root" >&2
    fi
    printf '%s\n' "$now" >"$build/.built-with"
    ninja -C "$build" "$1" >&2
}

# check_writable: a checkout that an earlier run as root left behind is told apart from a broken one
check_writable() {
    local path
    for path in "$root" "$venv" "$build" "$root/runs"; do
        if [[ -e $path && ! -w $path ]]; then
            refuse "$path cannot be written by $(id -un)" "type: sudo chown -R $(id -u):$(id -g) $(printf '%q' "$root")"
        fi
    done
}

# make_scratch: sets `scratch` to a new directory for the files of tests, in memory where there is room: a run's record is flushed to
# the disk a dozen times.
make_scratch() {
    local place=${TMPDIR:-/tmp} free_kib
    free_kib=$(df --output=avail /dev/shm 2>/dev/null | tail -1) || free_kib=0
    if [[ -w /dev/shm ]] && ((free_kib >= 4 << 20)); then place=/dev/shm; fi
    scratch=$(mktemp -d -p "$place" wt-XXXXXX)
}

# run_tests NAME ARGUMENT...: all that pytest selects by the arguments, in directories of NAME within `scratch`: side by side what bears
# that, and then the others. Runs of the engine wait for half of their time, so that there are two processes for each CPU.
run_tests() {
    local failed=0
    "$venv/bin/python" -m pytest --basetemp "$scratch/$1" -n "$(workers 2)" --no-loadscope-reorder "${@:2}" || failed=$?
    "$venv/bin/python" -m pytest --basetemp "$scratch/$1-alone" --alone "${@:2}" || failed=$?
    return "$failed"
}

# run_quick_tests PYTHON ARGUMENT...: unit tests that pytest selects by the arguments, side by side; those of this tier start no process
run_quick_tests() {
    "$1" -m pytest --basetemp "$scratch/quick" tests/unit tests/parts sharing/tests/unit -n "$(workers)" --no-loadscope-reorder "${@:2}"
}

# remove_scratch FAILED: it stays where tests failed, that is, where FAILED is not 0
remove_scratch() {
    [[ -n $scratch ]] || return 0
    if (($1)); then
        say "files of failed tests: $scratch"
    else
        rm -rf -- "$scratch"
    fi
}

# Under `sudo` in a user's checkout, what root made is given to the user.
hand_back() {
    if ((EUID == 0)) && [[ -n ${SUDO_UID-} && $(stat -c %u "$root") == "$SUDO_UID" ]]; then
        chown -hR --from=0 "$SUDO_UID:${SUDO_GID-}" "$root"
    fi
}
