#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs scripts/gpu-check.sh on an installation of this build with the fake driver. One test passes,
# one fails, one exceeds its time limit and one is skipped; the table and the exit status must say
# so. Without a GPU the script runs nothing (77), and it refuses the test double unless
# GPU_CHECK_ALLOW_FAKE is set. A pass says nothing about a GPU.
#
# usage: check_gpu_check.sh CMAKE SOURCE BUILD
set -eu

cmake=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "check_gpu_check: $1; the end of the output:"
    tail -n 60 "$work/log"
    exit 1
}

# check STATUS [OPTION...]: run the script, which must end so.
check()
{
    wanted=$1 status=0
    shift
    "$source/scripts/gpu-check.sh" "$work/prefix" "$@" >"$work/log" 2>&1 || status=$?
    [ $status -eq "$wanted" ] || fail "gpu-check.sh ended with status $status, expected $wanted"
}

row()
{
    grep -q "^$1  *$2  *[0-9.]* s\$" "$work/log" || fail "the table must report that $1 has $2"
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
grep -q "libcuda.so.1 is the test double" "$work/log" ||
    fail "gpu-check.sh must refuse the test double and print why"
export GPU_CHECK_ALLOW_FAKE=1
check 1 -- -R '^ipc\.space_(gpu|attr|life|use|kernels)\.np2$'
row ipc.space_gpu.np2 passed
row ipc.space_attr.np2 failed
row ipc.space_life.np2 failed
row ipc.space_use.np2 skipped
grep -q "^2 passed, 2 failed, 1 skipped\$" "$work/log" ||
    fail "the last line must be: 2 passed, 2 failed, 1 skipped"
grep -q '"row": "spin"' "$work/log" || fail "the output lacks the row spin of space_kernels"
check 0 -- -R '^tcp\.space_gpu\.np2$'
row tcp.space_gpu.np2 passed
