# shellcheck shell=bash
# Debian in a directory, for setup/clean-image, tests/distros and tests/packages. Sourced, as root, in a mount namespace of its own:
# what is mounted here ends with it.

# in_own_namespace COMMAND...: the command, which is the script that calls this, once more in namespaces of its own; there it returns.
# What is mounted or started in them ends with unshare, and so with this process, however it ends.
in_own_namespace() {
    [[ ${IN_OWN_NAMESPACE-} != yes ]] || return 0
    IN_OWN_NAMESPACE=yes unshare --mount --propagation private --pid --fork --kill-child --mount-proc -- "$@" &
    trap 'kill -KILL $!; exit 130' INT TERM
    local status=0
    wait $! || status=$?
    exit $status
}

# mirror: where this machine's apt has Debian from
mirror() {
    local found
    # shellcheck disable=SC2016  # apt's own variable
    found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -1)
    printf '%s\n' "${found:-http://deb.debian.org/debian}"
}

# make_image RELEASE DIRECTORY PACKAGE,...: the release as it comes, and this machine's way to the network
make_image() {
    debootstrap --variant=minbase --include="$3" "$1" "$2" "$(mirror)"
    # dpkg waits for the disk after each file; what can be made again needs no such care
    echo force-unsafe-io >"$2/etc/dpkg/dpkg.cfg.d/unsafe-io"
    local file
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [[ ! -e $file ]] || install -D -m 644 -- "$file" "$2$file"
    done
    apt-config dump --format '%f "%v";%n' Acquire | grep -E '::Proxy|::Check-' >"$2/etc/apt/apt.conf.d/10as-outside" || true
}

# mount_into DIRECTORY: what programs in it look for
mount_into() {
    mount --bind "$1" "$1" # a root that is no mount point has no network namespaces (ip netns)
    local place
    for place in proc sys dev; do mount --rbind "/$place" "$1/$place"; done
}
