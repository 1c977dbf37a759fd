#include "sim_queue.h"

#include "sim_gate.h"
#include "sim_stream.h"

#include <stdlib.h>

static gp_sim_task *task_at(const gp_sim_queue *queue, size_t index)
{
    return &queue->tasks[(queue->head + index) & (queue->capacity - 1)];
}

static bool grow(gp_sim_queue *queue)
{
    size_t capacity = queue->capacity > 0 ? queue->capacity * 2 : 8;
    gp_sim_task *tasks = malloc(capacity * sizeof(*tasks));
    if (tasks == NULL)
        return false;

    for (size_t i = 0; i < queue->count; i++)
        tasks[i] = *task_at(queue, i);
    free(queue->tasks);
    queue->tasks = tasks;
    queue->capacity = capacity;
    queue->head = 0;
    return true;
}

static void let_go(gp_sim_task *task)
{
    gp_sim_gate_release(task->gate);
    gp_sim_stream_release(task->after);
    task->gate = NULL;
    task->after = NULL;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When an operation can start, given the end of the one before it. */
static bool start_of(const gp_sim_task *task, uint64_t previous_end_ns, uint64_t *start_ns)
{
    uint64_t start = later_of(previous_end_ns, task->submitted_ns);
    if (task->gate != NULL) {
        if (!task->gate->is_open)
            return false;
        start = later_of(start, task->gate->opened_ns);
    }
    if (task->after != NULL) {
        uint64_t end_ns = 0;
        if (!gp_sim_queue_end(&task->after->queue, task->after_position, &end_ns))
            return false;
        start = later_of(start, end_ns);
    }
    *start_ns = start;
    return true;
}

bool gp_sim_queue_resolve(gp_sim_queue *queue)
{
    size_t before = queue->resolved;
    while (queue->resolved < queue->count) {
        gp_sim_task *task = task_at(queue, queue->resolved);
        uint64_t start_ns = 0;
        if (!start_of(task, queue->last_end_ns, &start_ns))
            break;
        task->ns += start_ns;
        queue->last_end_ns = task->ns;
        queue->resolved++;
        let_go(task);
    }
    return queue->resolved > before;
}

bool gp_sim_queue_push(gp_sim_queue *queue, gp_sim_task task)
{
    if (queue->count == queue->capacity && !grow(queue))
        return false;

    gp_sim_gate_retain(task.gate);
    gp_sim_stream_retain(task.after);
    queue->count++;
    *task_at(queue, queue->count - 1) = task;
    (void)gp_sim_queue_resolve(queue); /* what stays unresolved meets a gate */
    gp_sim_queue_settle(queue, task.submitted_ns);
    return true;
}

void gp_sim_queue_settle(gp_sim_queue *queue, uint64_t now_ns)
{
    while (queue->resolved > 0 && task_at(queue, 0)->ns <= now_ns) {
        queue->head = (queue->head + 1) & (queue->capacity - 1);
        queue->count--;
        queue->resolved--;
        queue->done++;
    }
}

bool gp_sim_queue_end(const gp_sim_queue *queue, uint64_t position, uint64_t *end_ns)
{
    if (position <= queue->done) {
        /* Whoever asks was submitted later, so the exact end makes no odds. */
        *end_ns = 0;
        return true;
    }
    if (position - queue->done > queue->resolved)
        return false;

    *end_ns = task_at(queue, (size_t)(position - queue->done - 1))->ns;
    return true;
}

void gp_sim_queue_clear(gp_sim_queue *queue)
{
    for (size_t i = queue->resolved; i < queue->count; i++)
        let_go(task_at(queue, i));
    free(queue->tasks);
    *queue = (gp_sim_queue){0};
}
