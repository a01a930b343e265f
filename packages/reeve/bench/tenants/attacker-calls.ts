/** Preparations of attackers with regular calls: jobs, running tasks, organizations. */
import { setTimeout as wait } from 'node:timers/promises'
import type { AttackTarget } from './attack.ts'

interface Call {
  readonly method?: string
  readonly path: string
  readonly token: string
  readonly body?: unknown
}

const CALL_MS_MAX = 30_000
const TASK_MS_MAX = 60_000
const POLL_MS = 100

/** Calls a route and requires success. */
async function call({ port }: AttackTarget, asked: Call): Promise<unknown> {
  const { method = 'POST', path, token, body } = asked
  const isGovernance = path.startsWith('/api/v2')
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: isGovernance
      ? { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' }
      : { 'x-service-token': token, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(CALL_MS_MAX),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** Creates an object through the governance API. */
export async function create(
  target: AttackTarget,
  path: string,
  data: object | undefined,
): Promise<Created> {
  const body = data === undefined ? undefined : { data }
  const answer = await call(target, {
    path: `/api/v2${path}`,
    token: target.userToken,
    ...(body === undefined ? {} : { body }),
  })
  // Proof: a JSON:API document of one resource, by the contract.
  return (answer as { data: Created }).data
}

export interface Created {
  readonly id: string
  readonly relationships?: Readonly<Record<string, { readonly data?: { readonly id: string } }>>
}

/** Name prefix of all attacker jobs: the benchmark purges them after each attack. */
export const ATTACK_JOB_PREFIX = 'attack-'

export interface TaskWish {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

/** A job with one process in the attacker's namespace. */
export function taskJob({ namespace }: AttackTarget, { name, command, args }: TaskWish) {
  const task = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command, args },
    Resources: { CPU: 10, MemoryMB: 32 },
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 10 },
    KillTimeout: 1e9,
  }
  return {
    ID: `${ATTACK_JOB_PREFIX}${name}`,
    Namespace: namespace,
    Type: 'batch',
    TaskGroups: [{ Name: 'app', Count: 1, EphemeralDisk: { SizeMB: 30 }, Tasks: [task] }],
  }
}

export async function register(target: AttackTarget, Job: object): Promise<void> {
  const path = `/v1/jobs?namespace=${target.namespace}`
  await call(target, { path, token: target.token, body: { Job } })
}

/** Runs a task and returns its allocation once it runs. */
export async function startTask(target: AttackTarget, wish: TaskWish): Promise<string> {
  const job = taskJob(target, wish)
  await register(target, job)
  const path = `/v1/job/${job.ID}/allocations?namespace=${target.namespace}`
  const endMs = performance.now() + TASK_MS_MAX
  while (performance.now() < endMs) {
    const rows = await call(target, { method: 'GET', path, token: target.token })
    // Proof: a list of allocations, by the contract.
    const running = (rows as AllocationRow[]).find(({ ClientStatus }) => ClientStatus === 'running')
    if (running !== undefined) return running.ID
    await wait(POLL_MS)
  }
  throw new Error(`waited ${TASK_MS_MAX} ms for the task of ${job.ID} to run`)
}

interface AllocationRow {
  readonly ID: string
  readonly ClientStatus: string
}

/** A task that sleeps longer than any attack takes. */
export const IDLE_TASK = { name: 'shell', command: '/bin/sleep', args: ['600'] } as const
