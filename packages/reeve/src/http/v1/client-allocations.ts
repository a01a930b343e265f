import {
  AllocationPauseState,
  AllocationUsage,
  CheckResult,
  LastOutput,
  MapOf,
  PAUSE_STATES,
  v1Routes,
  type NamespaceCapability,
  type NodeRequest,
} from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, refusal, type AllocationRow, type Refusal } from '../../model/index.ts'
import {
  allocationFailure,
  findAllocationOnNode,
  type Authenticator,
  type NodeGateway,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY, json, type Answer } from '../answer.ts'
import { read, write, type Endpoint, type Written } from './endpoint.ts'
import { asked, emptyOf, jsonOf, nodeAnswer } from './node-answer.ts'
import { requiredBody } from './required-body.ts'
import { anyone, somewhere } from './requirements.ts'
import { originOf } from '../slices.ts'

const askUsage = nodeAnswer(AllocationUsage)
const askPauseState = nodeAnswer(AllocationPauseState)
const askChecks = nodeAnswer(MapOf(CheckResult))
const askLastOutput = nodeAnswer(LastOutput)

export interface ClientHost {
  readonly context: WorkloadContext
  readonly gateway: NodeGateway
}

/** A client host with the services for streams. */
export interface StreamingHost extends ClientHost {
  readonly authenticator: Authenticator
}

export function clientAllocationEndpoints(host: ClientHost): readonly Endpoint[] {
  return [
    signalEndpoint(host),
    restartEndpoint(host),
    read(v1Routes.readAllocationStats, somewhere('read-job'), ({ caller, params, query }) =>
      asked(async () => {
        const found = find(host, caller, { allocId: params.alloc_id, anyOf: ['read-job'] })
        if (!found.ok) return found
        const { ID: allocation, NodeID: nodeId } = found.value
        const request = { verb: 'usage', allocation, task: query.task ?? '' } as const
        return jsonOf(await askUsage(host.gateway, { nodeId, request }))
      }),
    ),
    read(v1Routes.readClientAllocationChecks, somewhere('read-job'), ({ caller, params }) =>
      asked(() => readChecks(host, caller, params.alloc_id)),
    ),
    read(v1Routes.readAllocationChecks, anyone, ({ caller, params }) =>
      asked(async () => hidden(await readChecks(host, caller, params.alloc_id))),
    ),
    failureEndpoint(host),
    collectEndpoint(host),
    readPauseEndpoint(host),
    pauseEndpoint(host),
  ]
}

interface Wanted {
  readonly allocId: string
  readonly anyOf: readonly NamespaceCapability[]
}

function find(
  { context }: ClientHost,
  caller: Caller,
  wanted: Wanted,
): Result<AllocationRow, Refusal> {
  return findAllocationOnNode(context, caller, wanted)
}

function signalEndpoint(host: ClientHost): Endpoint {
  const endpoint = write(
    v1Routes.signalAllocation,
    somewhere('alloc-lifecycle'),
    async ({ caller, params, body }) => {
      const given = requiredBody(body)
      if (!given.ok)
        return err(refusal('invalid-input', `Failed to decode body: ${given.error.message}`))
      const { Signal, Task } = given.value
      const [signal, task] = [Signal ?? '', Task ?? '']
      const wanted = { allocId: params.alloc_id, anyOf: ['alloc-lifecycle'] } as const
      return await tell(host, caller, {
        ...wanted,
        request: (allocation) => ({ verb: 'signal', allocation, task, signal }),
      })
    },
  )
  return { ...endpoint, bodyProblem: 'Failed to decode body: ' }
}

/** Returns the restart route. `Task` is the older name of `TaskName`; the body may be empty. */
function restartEndpoint(host: ClientHost): Endpoint {
  return write(
    v1Routes.restartAllocation,
    somewhere('alloc-lifecycle'),
    async ({ caller, params, body }) => {
      const decoded = requiredBody(body)
      const given: Partial<typeof body> = decoded.ok ? decoded.value : {}
      const task = given.TaskName ?? given.Task ?? ''
      const allTasks = given.AllTasks ?? false
      if (allTasks && task !== '')
        return err(refusal('invalid-input', 'task name cannot be set when restarting all tasks'))
      return await tell(host, caller, {
        allocId: params.alloc_id,
        anyOf: ['alloc-lifecycle'],
        request: (allocation) => ({ verb: 'restart', allocation, task, allTasks }),
        deadlineMs: LIMITS.nodeSlowRequestMsMax,
      })
    },
  )
}

function readPauseEndpoint(host: ClientHost): Endpoint {
  return read(v1Routes.readAllocationPause, somewhere('read-job'), ({ caller, params, query }) =>
    asked(async () => {
      const found = find(host, caller, { allocId: params.alloc_id, anyOf: ['read-job'] })
      if (!found.ok) return found
      const { ID: allocation, NodeID: nodeId } = found.value
      const request = { verb: 'read-schedule-state', allocation, task: query.task ?? '' } as const
      return jsonOf(await askPauseState(host.gateway, { nodeId, request }))
    }),
  )
}

function pauseEndpoint(host: ClientHost): Endpoint {
  const anyOf = ['submit-job', 'pause-allocation'] as const
  return write(v1Routes.pauseAllocation, somewhere(...anyOf), async ({ caller, params, body }) => {
    const given = requiredBody(body)
    if (!given.ok) return given
    const { Task, ScheduleState } = given.value
    const found = find(host, caller, { allocId: params.alloc_id, anyOf })
    if (!found.ok) return found
    const state = PAUSE_STATES.find((known) => known === ScheduleState)
    if (state === undefined) return err(refusal('invalid-input', 'Not a valid task schedule state'))
    const told = await tell(host, caller, {
      allocId: params.alloc_id,
      anyOf,
      request: (allocation) => ({
        verb: 'set-schedule-state',
        allocation,
        task: Task ?? '',
        state,
      }),
    })
    return told.ok ? ok({ ...told.value, answer: EMPTY }) : told
  })
}

interface Told extends Wanted {
  readonly request: (allocation: string) => NodeRequest
  readonly deadlineMs?: number
}

async function tell(
  host: ClientHost,
  caller: Caller,
  { request, deadlineMs, ...wanted }: Told,
): Promise<Result<Written, Refusal>> {
  const found = find(host, caller, wanted)
  if (!found.ok) return found
  const { ID, NodeID } = found.value
  const answer = await host.gateway.request(NodeID, request(ID), deadlineMs)
  if (!answer.ok) return answer
  return ok({ index: host.context.store.index, answer: json({}) })
}

async function readChecks(
  host: ClientHost,
  caller: Caller,
  allocId: string,
): Promise<Result<Answer, Refusal>> {
  const found = find(host, caller, { allocId, anyOf: ['read-job'] })
  if (!found.ok) return found
  const { ID: allocation, NodeID: nodeId } = found.value
  const request = { verb: 'checks', allocation } as const
  return jsonOf(await askChecks(host.gateway, { nodeId, request }))
}

/**
 * Returns the failure report of an allocation. Parts that are unavailable, because a permission is
 * missing or the node does not respond, are omitted and listed in the response.
 */
function failureEndpoint(host: ClientHost): Endpoint {
  const { context, gateway } = host
  return read(v1Routes.readAllocationFailure, anyone, (request) =>
    asked(async () => {
      const { caller, params } = request
      const failure = await allocationFailure(context, caller, {
        allocId: params.alloc_id,
        origin: originOf(request),
        readOutput: ({ ID: allocation, NodeID: nodeId }, wanted) =>
          askLastOutput(gateway, {
            nodeId,
            request: { verb: 'last-output', allocation, ...wanted },
          }),
      })
      return jsonOf(failure)
    }),
  )
}

/** Maps a missing permission to not found, as this path does not reveal allocations. */
function hidden(result: Result<Answer, Refusal>): Result<Answer, Refusal> {
  if (result.ok || !HIDING.has(result.error.code)) return result
  return err(refusal('alloc-not-found', 'allocation not found'))
}

const HIDING: ReadonlySet<Refusal['code']> = new Set(['alloc-not-found', 'permission-denied'])

function collectEndpoint({ context, gateway }: ClientHost): Endpoint {
  const anyOf = ['submit-job', 'gc-allocation'] as const
  return read(v1Routes.collectAllocation, somewhere(...anyOf), ({ caller, params }) =>
    asked(async () => {
      const found = findAllocationOnNode(context, caller, { allocId: params.alloc_id, anyOf })
      if (!found.ok) return found
      const { ID: allocation, NodeID } = found.value
      const request = { verb: 'collect', allocation } as const
      return emptyOf(await gateway.request(NodeID, request, LIMITS.nodeSlowRequestMsMax))
    }),
  )
}
