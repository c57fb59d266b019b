// SPDX-License-Identifier: BSD-3-Clause
//
// OpenSHMEM in C++: the type-generic routines are overloads, and a class can own symmetric memory.
//
//     oshc++ -std=c++17 cxx.cpp -o cxx && oshrun -n 4 ./cxx
//
#include <shmem.h>

#include <cstdio>
#include <new>

// A symmetric array. All PEs construct and destroy it, in the same order and with the same size.
template <typename T> class SymmetricArray
{
  public:
    explicit SymmetricArray(size_t size)
        : data_(static_cast<T *>(shmem_calloc(size, sizeof(T)))), size_(size)
    {
        if (data_ == nullptr) throw std::bad_alloc();
    }
    ~SymmetricArray()
    {
        shmem_free(data_);
    }
    SymmetricArray(const SymmetricArray &) = delete;
    SymmetricArray &operator=(const SymmetricArray &) = delete;

    T &operator[](size_t i)
    {
        return data_[i];
    }
    T *data()
    {
        return data_;
    }
    void put(const T *source, int pe)
    {
        shmem_put(data_, source, size_, pe);
    } // overload for T
    T get(size_t i, int pe)
    {
        return shmem_g(&data_[i], pe);
    }

  private:
    T *data_;
    size_t size_;
};

static bool exchange()
{
    SymmetricArray<double> numbers(3);
    SymmetricArray<long> sum(1);
    const int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
    const double mine[3] = {me + 0.25, me + 0.5, me + 0.75};

    numbers.put(mine, next);
    shmem_barrier_all();
    sum[0] = static_cast<long>(numbers[2] - 0.75);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, sum.data(), sum.data(), 1);
    std::printf("PE %d: has %.2f, the next PE has %.2f, the sum is %ld\n", me, numbers[0],
                numbers.get(0, next), sum[0]);
    shmem_barrier_all(); // no PE frees memory that another PE still reads
    return sum[0] == static_cast<long>(npes) * (npes - 1) / 2;
}

int main()
{
    shmem_init();
    const bool right = exchange(); // its arrays are freed before shmem_finalize
    shmem_finalize();
    return right ? 0 : 1;
}
