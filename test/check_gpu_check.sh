#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run scripts/gpu-check.sh on an installation of this build, with the fake driver: one test passes,
# one fails, one hangs beyond its limit and one is skipped. The table says so, with an exit status of
# 1; without a GPU nothing is run, and the test double is refused unless it is allowed.
#
# usage: check_gpu_check.sh CMAKE SOURCE BUILD
set -eu

cmake=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "failed: $1"
    tail -n 60 "$work/log"
    exit 1
}

# check STATUS [OPTION...]: run the script, which must end so.
check()
{
    wanted=$1 status=0
    shift
    "$source/scripts/gpu-check.sh" "$work/prefix" "$@" >"$work/log" 2>&1 || status=$?
    [ $status -eq "$wanted" ] || fail "status $status instead of $wanted"
}

row()
{
    grep -q "^$1  *$2  *[0-9.]* s\$" "$work/log" || fail "the table does not say that $1 $2"
}

"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
cat >"$work/launcher" <<'END'
#!/bin/sh
case $* in
    *pe_space_attr*) exit 3 ;;
    *pe_space_life*) exec sleep 1000 ;;
    *pe_space_use*) exit 77 ;;
    *) exec mpiexec.hydra "$@" ;;
esac
END
chmod +x "$work/launcher"
export GPU_CHECK_BUILD="$work/build" GPU_CHECK_LIMIT=20 SHMEM_LAUNCHER="$work/launcher"
export CUDA_VISIBLE_DEVICES= && check 77
unset CUDA_VISIBLE_DEVICES
export LD_LIBRARY_PATH="$build/lib/fakecuda" && check 1
grep -q "libcuda.so.1 is the test double" "$work/log" || fail "the test double is not refused"
export GPU_CHECK_ALLOW_FAKE=1
check 1 -- -R '^ipc\.space_(gpu|attr|life|use|kernels)\.np2$'
row ipc.space_gpu.np2 passed
row ipc.space_attr.np2 failed
row ipc.space_life.np2 failed
row ipc.space_use.np2 skipped
grep -q "^2 passed, 2 failed, 1 skipped\$" "$work/log" || fail "no sums"
grep -q '"row": "spin"' "$work/log" || fail "no row of space_kernels"
check 0 -- -R '^tcp\.space_gpu\.np2$'
row tcp.space_gpu.np2 passed
