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
  HostUsage,
  NodeMeta,
} from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, refusal, type AllocationRow, type Refusal, checkUuid } from '../../model/index.ts'
import {
  allocationFailure,
  findAllocationOnNode,
  type Authenticator,
  type NodeGateway,
  type WorkloadContext,
  unknownNode,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json, type HttpResponse } from '../response.ts'
import { read, write, type Endpoint, type WriteResult } from './endpoint.ts'
import { unwatchedRead, emptyResult, jsonResult, nodeRpc } from './node-rpc.ts'
import { requireBody } from './errors.ts'
import { allowAll, inAnyNamespace, nodeRead, nodeWrite } from './access.ts'
import { workOrigin } from '../list-page.ts'
import type { AgentInfo } from './agent.ts'

const askAllocationUsage = nodeRpc(AllocationUsage)
const askPauseState = nodeRpc(AllocationPauseState)
const askChecks = nodeRpc(MapOf(CheckResult))
const askLastOutput = nodeRpc(LastOutput)

export interface NodeRouteDeps {
  readonly context: WorkloadContext
  readonly gateway: NodeGateway
}

/** A client host with the services for streams. */
export interface StreamingHost extends NodeRouteDeps {
  readonly authenticator: Authenticator
}

export function clientAllocationEndpoints(host: NodeRouteDeps): readonly Endpoint[] {
  return [
    signalEndpoint(host),
    restartEndpoint(host),
    read(v1Routes.readAllocationStats, inAnyNamespace('read-job'), ({ caller, params, query }) =>
      unwatchedRead(async () => {
        const found = findOnNode(host, caller, { allocId: params.alloc_id, anyOf: ['read-job'] })
        if (!found.ok) return found
        const { ID: allocation, NodeID: nodeId } = found.value
        const request = { verb: 'usage', allocation, task: query.task ?? '' } as const
        return jsonResult(await askAllocationUsage(host.gateway, { nodeId, request }))
      }),
    ),
    read(v1Routes.readClientAllocationChecks, inAnyNamespace('read-job'), ({ caller, params }) =>
      unwatchedRead(() => readChecks(host, caller, params.alloc_id)),
    ),
    read(v1Routes.readAllocationChecks, allowAll, ({ caller, params }) =>
      unwatchedRead(async () => hideAllocation(await readChecks(host, caller, params.alloc_id))),
    ),
    failureEndpoint(host),
    collectEndpoint(host),
    readPauseEndpoint(host),
    pauseEndpoint(host),
  ]
}

interface AllocationSelector {
  readonly allocId: string
  readonly anyOf: readonly NamespaceCapability[]
}

function findOnNode(
  { context }: NodeRouteDeps,
  caller: Caller,
  selector: AllocationSelector,
): Result<AllocationRow, Refusal> {
  return findAllocationOnNode(context, caller, selector)
}

function signalEndpoint(host: NodeRouteDeps): Endpoint {
  const endpoint = write(
    v1Routes.signalAllocation,
    inAnyNamespace('alloc-lifecycle'),
    async ({ caller, params, body }) => {
      const decoded = requireBody(body)
      if (!decoded.ok)
        return err(refusal('invalid-input', `Failed to decode body: ${decoded.error.message}`))
      const { Signal, Task } = decoded.value
      const [signal, task] = [Signal ?? '', Task ?? '']
      const selector = { allocId: params.alloc_id, anyOf: ['alloc-lifecycle'] } as const
      return await callNode(host, caller, {
        ...selector,
        request: (allocation) => ({ verb: 'signal', allocation, task, signal }),
      })
    },
  )
  return { ...endpoint, bodyErrorPrefix: 'Failed to decode body: ' }
}

/** Returns the restart route. `Task` is the older name of `TaskName`; the body may be empty. */
function restartEndpoint(host: NodeRouteDeps): Endpoint {
  return write(
    v1Routes.restartAllocation,
    inAnyNamespace('alloc-lifecycle'),
    async ({ caller, params, body }) => {
      const decoded = requireBody(body)
      const input: Partial<typeof body> = decoded.ok ? decoded.value : {}
      const task = input.TaskName ?? input.Task ?? ''
      const allTasks = input.AllTasks ?? false
      if (allTasks && task !== '')
        return err(refusal('invalid-input', 'task name cannot be set when restarting all tasks'))
      return await callNode(host, caller, {
        allocId: params.alloc_id,
        anyOf: ['alloc-lifecycle'],
        request: (allocation) => ({ verb: 'restart', allocation, task, allTasks }),
        deadlineMs: LIMITS.nodeSlowRequestTimeoutMs,
      })
    },
  )
}

function readPauseEndpoint(host: NodeRouteDeps): Endpoint {
  return read(
    v1Routes.readAllocationPause,
    inAnyNamespace('read-job'),
    ({ caller, params, query }) =>
      unwatchedRead(async () => {
        const found = findOnNode(host, caller, { allocId: params.alloc_id, anyOf: ['read-job'] })
        if (!found.ok) return found
        const { ID: allocation, NodeID: nodeId } = found.value
        const request = { verb: 'read-schedule-state', allocation, task: query.task ?? '' } as const
        return jsonResult(await askPauseState(host.gateway, { nodeId, request }))
      }),
  )
}

function pauseEndpoint(host: NodeRouteDeps): Endpoint {
  const anyOf = ['submit-job', 'pause-allocation'] as const
  return write(
    v1Routes.pauseAllocation,
    inAnyNamespace(...anyOf),
    async ({ caller, params, body }) => {
      const decoded = requireBody(body)
      if (!decoded.ok) return decoded
      const { Task, ScheduleState } = decoded.value
      const found = findOnNode(host, caller, { allocId: params.alloc_id, anyOf })
      if (!found.ok) return found
      const state = PAUSE_STATES.find((candidate) => candidate === ScheduleState)
      if (state === undefined)
        return err(refusal('invalid-input', 'Not a valid task schedule state'))
      const result = await callNode(host, caller, {
        allocId: params.alloc_id,
        anyOf,
        request: (allocation) => ({
          verb: 'set-schedule-state',
          allocation,
          task: Task ?? '',
          state,
        }),
      })
      return result.ok ? ok({ ...result.value, response: EMPTY_RESPONSE }) : result
    },
  )
}

interface NodeCommand extends AllocationSelector {
  readonly request: (allocation: string) => NodeRequest
  readonly deadlineMs?: number
}

async function callNode(
  host: NodeRouteDeps,
  caller: Caller,
  { request, deadlineMs, ...selector }: NodeCommand,
): Promise<Result<WriteResult, Refusal>> {
  const found = findOnNode(host, caller, selector)
  if (!found.ok) return found
  const { ID, NodeID } = found.value
  const answer = await host.gateway.request(NodeID, request(ID), deadlineMs)
  if (!answer.ok) return answer
  return ok({ index: host.context.store.index, response: json({}) })
}

async function readChecks(
  host: NodeRouteDeps,
  caller: Caller,
  allocId: string,
): Promise<Result<HttpResponse, Refusal>> {
  const found = findOnNode(host, caller, { allocId, anyOf: ['read-job'] })
  if (!found.ok) return found
  const { ID: allocation, NodeID: nodeId } = found.value
  const request = { verb: 'checks', allocation } as const
  return jsonResult(await askChecks(host.gateway, { nodeId, request }))
}

/**
 * Returns the failure report of an allocation. Parts that are unavailable, because a permission is
 * missing or the node does not respond, are omitted and listed in the response.
 */
function failureEndpoint(host: NodeRouteDeps): Endpoint {
  const { context, gateway } = host
  return read(v1Routes.readAllocationFailure, allowAll, (request) =>
    unwatchedRead(async () => {
      const { caller, params } = request
      const failure = await allocationFailure(context, caller, {
        allocId: params.alloc_id,
        origin: workOrigin(request),
        readTaskOutput: ({ ID: allocation, NodeID: nodeId }, options) =>
          askLastOutput(gateway, {
            nodeId,
            request: { verb: 'last-output', allocation, ...options },
          }),
      })
      return jsonResult(failure)
    }),
  )
}

/** Maps a missing permission to not found, as this path does not reveal allocations. */
function hideAllocation(result: Result<HttpResponse, Refusal>): Result<HttpResponse, Refusal> {
  if (result.ok || !HIDDEN_REASONS.has(result.error.code)) return result
  return err(refusal('alloc-not-found', 'allocation not found'))
}

const HIDDEN_REASONS: ReadonlySet<Refusal['code']> = new Set([
  'alloc-not-found',
  'permission-denied',
])

function collectEndpoint({ context, gateway }: NodeRouteDeps): Endpoint {
  const anyOf = ['submit-job', 'gc-allocation'] as const
  return read(v1Routes.collectAllocation, inAnyNamespace(...anyOf), ({ caller, params }) =>
    unwatchedRead(async () => {
      const found = findAllocationOnNode(context, caller, { allocId: params.alloc_id, anyOf })
      if (!found.ok) return found
      const { ID: allocation, NodeID } = found.value
      const request = { verb: 'collect', allocation } as const
      return emptyResult(await gateway.request(NodeID, request, LIMITS.nodeSlowRequestTimeoutMs))
    }),
  )
}

const askHostUsage = nodeRpc(HostUsage)
const askMeta = nodeRpc(NodeMeta)

/**
 * Returns the routes for resource usage and garbage collection of a node; the node in this process
 * unless one is named.
 */
export function clientNodeEndpoints(
  { context, gateway }: NodeRouteDeps,
  agent: Pick<AgentInfo, 'nodeId'>,
): readonly Endpoint[] {
  const find = (requestedId: string | undefined): Result<string, Refusal> => {
    const text = requestedId || agent.nodeId?.()
    if (text === undefined)
      return err(refusal('invalid-input', 'No local Node and node_id not provided'))
    const id = checkUuid('node', text)
    if (!id.ok) return err(refusal('invalid-input', id.error))
    return context.store.tables.nodes.has(id.value) ? ok(id.value) : err(unknownNode(id.value))
  }
  return [
    read(v1Routes.readClientStats, nodeRead, ({ query }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const request = { verb: 'host-usage' } as const
        return jsonResult(await askHostUsage(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.readNodeMeta, nodeRead, ({ query }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const request = { verb: 'read-meta' } as const
        return jsonResult(await askMeta(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.applyNodeMeta, nodeWrite, ({ query, body }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id || body?.NodeID || undefined)
        if (!node.ok) return node
        const changes = Object.entries(body?.Meta ?? {})
        const meta = Object.fromEntries(changes.map(([name, value]) => [name, value ?? null]))
        const request = { verb: 'apply-meta', meta } as const
        return jsonResult(await askMeta(gateway, { nodeId: node.value, request }))
      }),
    ),
    read(v1Routes.collectClient, nodeWrite, ({ query }) =>
      unwatchedRead(async () => {
        const node = find(query.node_id)
        if (!node.ok) return node
        const ms = LIMITS.nodeSlowRequestTimeoutMs
        return emptyResult(await gateway.request(node.value, { verb: 'collect-all' }, ms))
      }),
    ),
  ]
}
