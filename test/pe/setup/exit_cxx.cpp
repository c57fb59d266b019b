// SPDX-License-Identifier: BSD-3-Clause
// Ends a C++ program by shmem_global_exit on the last PE, in the way that the argument names.
// Handlers, destructors and streams of that PE must be run and flushed as by exit().
// run_exit_cxx.sh checks the file, the output and the status.
//
// usage: exit_cxx all | finalizes | twice | hangs
#include <shmem.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <unistd.h>

namespace {

std::ofstream kept; // flushed by its destructor alone
const char *way = "";
bool leaves;

struct last_words {
    ~last_words()
    {
        if (!leaves) return;
        kept << "a destructor\n";
        if (std::strcmp(way, "finalizes") == 0) shmem_finalize();
        if (std::strcmp(way, "hangs") == 0) pause();
    }
} static_object; // constructed behind kept, so destroyed before it

void handler()
{
    kept << "a handler\n";
    if (std::strcmp(way, "twice") == 0) shmem_global_exit(34);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1) way = argv[1];
    std::ios::sync_with_stdio(false);
    shmem_init();
    leaves = shmem_my_pe() == shmem_n_pes() - 1;
    if (leaves) {
        std::atexit(handler);
        kept.open(std::getenv("RULES_FILE"));
        kept << "a file\n";
        std::cout << "an unfinished line";
        shmem_global_exit(33);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
