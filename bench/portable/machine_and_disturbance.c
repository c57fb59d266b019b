/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes the machine in the heading of the output, and detects other activity on the machine
 * during a measurement.
 */
#include "harness.h"

#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---- description of the machine ----------------------------------------------------- */

static void read_cpu(char *cpu, size_t len)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(cpu, len, "unknown");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *text = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || text == NULL) continue;
        text += 1 + strspn(text + 1, " \t");
        text[strcspn(text, "\n")] = '\0';
        snprintf(cpu, len, "%.120s", text);
        break;
    }
    if (file != NULL) fclose(file);
}

/* Copies the first line of a file to `word`, or makes `word` empty if the file cannot be read. */
static void read_word(const char *path, char *word, size_t len)
{
    FILE *file = fopen(path, "r");

    word[0] = '\0';
    if (file == NULL) return;
    if (fgets(word, (int)len, file) != NULL) word[strcspn(word, "\n")] = '\0';
    fclose(file);
}

void bench_describe(struct bench_machine *machine)
{
    struct utsname uts;
    char name[SHMEM_MAX_NAME_LEN];
    time_t now = time(NULL);
    struct tm utc;

    shmem_info_get_name(name);
    snprintf(machine->library, sizeof(machine->library), "%.200s", name);
    if (uname(&uts) == 0)
        snprintf(machine->kernel, sizeof(machine->kernel), "%s %s %s", uts.sysname, uts.release,
                 uts.machine);
    read_cpu(machine->cpu, sizeof(machine->cpu));
    read_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", machine->governor,
              sizeof(machine->governor));
    if (gmtime_r(&now, &utc) != NULL)
        strftime(machine->date, sizeof(machine->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    machine->clock_ns = bench_clock_cost_ns();
}

/* ---- disturbance by other activity ------------------------------------------------------ */

/*
 * Shortest interval over which CPU times are compared, in ns. It is long, because the kernel counts
 * CPU time in steps of 10 ms.
 */
#define MIN_NS 200000000.0
/* Smallest share of steal time that is reported. 0.02 means 2 % of the time of all cores. */
#define STEAL 0.02
/* Smallest CPU time of other processes that is reported. 0.1 means a tenth of one core's time. */
#define OTHERS 0.1
#define SPEED 0.15

/*
 * Reads the busy time and the steal time of this host's CPUs, in ns. Steal time is the time in
 * which the hypervisor ran other virtual machines.
 */
static void read_host(uint64_t *busy_ns, uint64_t *steal_ns)
{
    FILE *file = fopen("/proc/stat", "r");
    unsigned long long user = 0, nice = 0, sys = 0, irq = 0, softirq = 0, steal = 0;
    uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);

    *busy_ns = *steal_ns = 0;
    if (file == NULL) return;
    if (fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &sys, &irq,
               &softirq, &steal) == 6) {
        *busy_ns = (user + nice + sys + irq + softirq) * tick;
        *steal_ns = steal * tick;
    }
    fclose(file);
}

/* Returns the CPU time that the PEs on the host of PE 0 have used, in ns. */
static uint64_t own_ns(const struct bench_machine *machine)
{
    uint64_t sum = 0;

    for (int pe = 0, n_found = 0; n_found < machine->n_local; pe++) {
        struct timespec cpu_time;
        clockid_t clock;

        if (strcmp(machine->places[pe].host, machine->places[0].host) != 0) continue;
        n_found++;
        if (clock_getcpuclockid(machine->places[pe].pid, &clock) != 0) continue;
        if (clock_gettime(clock, &cpu_time) != 0) continue;
        sum += (uint64_t)cpu_time.tv_sec * 1000000000u + (uint64_t)cpu_time.tv_nsec;
    }
    return sum;
}

/*
 * Runs a loop of additions ten times, for about 5 us each. Returns the shortest time, because
 * disturbances make the other times longer.
 */
static double time_core(void)
{
    double shortest = 0;

    for (int i = 0; i < 10; i++) {
        uint64_t start = bench_now_ns();
        double ns;

        for (int k = 0; k < 16384; k++)
            __asm__ __volatile__("" : "+r"(k));
        ns = (double)(bench_now_ns() - start);
        if (shortest == 0 || ns < shortest) shortest = ns;
    }
    return shortest;
}

void bench_disturbance_begin(const struct bench_machine *machine, struct bench_disturbance *start)
{
    start->core_ns = time_core();
    start->own_ns = own_ns(machine);
    read_host(&start->busy_ns, &start->steal_ns);
    start->ns = bench_now_ns();
}

static void add_text(char *text, size_t len, const char *name, double percent)
{
    size_t length = strlen(text);

    snprintf(text + length, len - length, "%s%s %.0f %%", length > 0 ? ", " : "", name, percent);
}

void bench_disturbance_end(const struct bench_machine *machine,
                           const struct bench_disturbance *start, char *text, size_t len)
{
    double ns = (double)(bench_now_ns() - start->ns);
    double n_cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    struct bench_disturbance end;
    double steal, other_share, speed;

    bench_disturbance_begin(machine, &end);
    text[0] = '\0';
    speed = end.core_ns / start->core_ns - 1;
    if (speed > SPEED || speed < -SPEED) add_text(text, len, "core speed changed by", -100 * speed);
    if (ns < MIN_NS) return;
    steal = (double)(end.steal_ns - start->steal_ns) / ns / n_cores;
    if (steal > STEAL) add_text(text, len, "steal time", 100 * steal);
    other_share =
        ((double)(end.busy_ns - start->busy_ns) - (double)(end.own_ns - start->own_ns)) / ns;
    if (other_share > OTHERS)
        add_text(text, len, "other processes used a core for", 100 * other_share);
}
