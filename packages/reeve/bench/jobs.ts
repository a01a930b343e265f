/** The task of benchmark jobs: sleeps longer than any benchmark takes. */
export const SLEEP = { command: '/bin/sleep', args: ['60'] } as const

const TASK = { Name: 'main', Driver: 'raw_exec', Config: SLEEP } as const

/** A job with one process. */
export function sleepJob(id: string) {
  return { ID: id, TaskGroups: [{ Name: 'app', Tasks: [TASK] }] }
}

/** A job that is accepted and evaluated and runs nothing. */
export function idleJob(id: string) {
  return { ID: id, TaskGroups: [{ Name: 'app', Count: 0, Tasks: [TASK] }] }
}
