import type { TestContext } from 'node:test'
import type { Input, Job, Task, TaskGroup } from '@reeve/contract'
import type { Client } from '@reeve/sdk'
import { atEnd } from './at-end.ts'
import { until } from './until.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 180_000

interface ShellJob {
  readonly id: string
  readonly script: string
  readonly count?: number
  readonly tasks?: readonly Input<Task>[]
  /** More of the group. */
  readonly group?: Input<TaskGroup>
  readonly job?: Input<Job>
}

/** A task that runs a shell script on this machine. */
export function shellTask(name: string, script: string): Input<Task> {
  return {
    Name: name,
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Resources: { CPU: 20, MemoryMB: 20 },
    KillTimeout: 200e6,
  }
}

/** Registers a job of a shell script and gives the ids of its allocations once they run. */
export async function runShellJob(
  t: TestContext,
  client: Client,
  { id, script, count = 1, tasks = [], group = {}, job = {} }: ShellJob,
): Promise<readonly string[]> {
  const Tasks = [shellTask('main', script), ...tasks]
  const TaskGroups = [{ ...group, Name: 'group', Count: count, Tasks }]
  await client.v1.registerJob({ body: { Job: { ID: id, TaskGroups, ...job } } })
  atEnd(t, () => endJob(client, id))
  return await until(
    `${id} to run`,
    async () => {
      const { data } = await client.v1.listJobAllocations({ params: { job_id: id } })
      const running = data.filter(({ ClientStatus }) => ClientStatus === 'running')
      return running.length === count ? running.map(({ ID }) => ID) : undefined
    },
    WITHIN_MS,
  )
}

/** Tasks outlive an agent that is killed, as they must. */
export async function endJob(client: Client, id: string): Promise<void> {
  const params = { job_id: id }
  const { data } = await client.v1.stopJob({ params })
  if (data.EvalID === '') return
  await until(
    `${id} to end`,
    async () => {
      const { data: left } = await client.v1.listJobAllocations({ params, query: { all: true } })
      return left.every(({ ClientStatus }) => !LIVE.has(ClientStatus)) || undefined
    },
    WITHIN_MS,
  )
}

const LIVE: ReadonlySet<string> = new Set(['pending', 'running', 'unknown'])
