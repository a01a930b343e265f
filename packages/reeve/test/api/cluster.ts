import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { AllocationUpdate, ClientStatus, Input, Job, Node } from '@reeve/contract'
import { EvaluationLoop } from '../../src/control/index.ts'
import type { AllocationRow, NodeRow } from '../../src/model/index.ts'
import { namespacedKey, put } from '../../src/state/index.ts'
import { updateAllocations } from '../../src/workload/index.ts'
import { aGroup, aNode, anId } from '../build/index.ts'
import type { CallOptions, TestServer } from './harness.ts'

/** A server with the loop that carries out evaluations, and nodes that only a test speaks for. */
export interface ScheduledServer {
  readonly server: TestServer
  /** Waits until every evaluation that is due has been carried out and is durable. */
  readonly settle: () => Promise<void>
  /** Registers a job and lets it be scheduled. */
  readonly run: (job?: Input<Job>) => Promise<void>
  /** What the node of an allocation says about it. */
  readonly report: (row: AllocationRow, status: ClientStatus, fields?: object) => Promise<void>
  /** The allocations of a job of the default namespace, by id. */
  readonly allocationsOf: (jobId: string) => readonly AllocationRow[]
}

export async function withScheduler(server: TestServer, nodeCount = 1): Promise<ScheduledServer> {
  const { store, clock } = server.context
  const log = { info: silent, warn: silent, error: fail }
  for (let i = 1; i <= nodeCount; i++)
    await putNode(server, { ID: anId('node', i), Name: `node-${i}` })
  new EvaluationLoop({ ...server.context, broker: server.broker, log }).start()
  const settle = async (): Promise<void> => {
    const { evaluations } = store.tables
    const isDue = ({ WaitUntil }: { readonly WaitUntil: string }): boolean =>
      Date.parse(WaitUntil) <= clock.nowMs()
    for (let turns = 0; ; turns++) {
      await store.whenDurable()
      await setImmediate()
      if (!evaluations.rowsByIndex('status', 'pending').some(isDue)) break
      assert.ok(turns < 10_000, 'the evaluations come to an end')
    }
    await store.whenDurable()
  }
  return {
    server,
    settle,
    async run(job = {}) {
      await server.ok('registerJob', register(job))
      await settle()
    },
    async report(row, status, fields = {}) {
      const update: AllocationUpdate = {
        ID: row.ID,
        ClientStatus: status,
        ClientDescription: '',
        TaskStates: null,
        ...fields,
      }
      await updateAllocations(server.context, [{ nodeId: row.NodeID, updates: [update] }])
      await settle()
    },
    allocationsOf: (jobId) =>
      store.tables.allocations.rowsByIndex('job', namespacedKey('default', jobId)),
  }
}

/** The call that registers the smallest job with these fields. */
export function register(job: Input<Job> = {}, request: object = {}): CallOptions {
  return { body: { Job: { ID: 'web', TaskGroups: [aGroup()], ...job }, ...request } }
}

/** Jobs that wait for their launch or dispatch. */
export const PERIODIC: Input<Job> = { Type: 'batch', Periodic: { Spec: '* * * * *' } }
export const PARAMETERIZED: Input<Job> = {
  Type: 'batch',
  ParameterizedJob: { Payload: 'optional' },
}

/** The parameters of a route below `/v1/job/:job_id`. */
export function ofJob(jobId = 'web', query: NonNullable<CallOptions['query']> = {}): CallOptions {
  return { params: { job_id: jobId }, query }
}

/** Stores a node as a registration would. */
export async function putNode(server: TestServer, fields: Partial<Node> = {}): Promise<NodeRow> {
  const { SecretID: _secret, ...node } = aNode(fields)
  const row = { ...node, SecretHash: '' }
  const { durable } = server.context.store.commit({
    by: 'system',
    cause: 'NodeRegistration',
    changes: () => [put('nodes', row)],
  })
  await durable
  return row
}

function silent(): void {
  return undefined
}

function fail(fields: object, message: string): void {
  assert.fail(`${message}: ${JSON.stringify(fields)}`)
}
