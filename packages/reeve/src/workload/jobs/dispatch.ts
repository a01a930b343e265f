import type { Job, JobDispatchRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { assert } from '../../kit/fault.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import {
  dispatchedChild,
  dispatchedChildId,
  dispatchProblem,
  isParent,
  LIMITS,
  refusal,
  type DispatchParts,
  type Refusal,
} from '../../model/index.ts'
import { childRows, dispatchKey, namespacedKey } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { checkRegistrationEnabled } from '../scheduler-configuration.ts'
import { textMap } from '../text-map.ts'
import { readPayload } from './payload.ts'

export interface DispatchRequest {
  readonly namespace: string
  readonly jobId: string
  /** Undefined when the request has none. */
  readonly body: JobDispatchRequest | undefined
  /** Empty when not given. */
  readonly idempotencyToken: string
}

export interface JobDispatched {
  readonly childId: string
  /** Empty when the child was there already, or waits for launches of its own. */
  readonly evalId: string
  readonly evalCreateIndex: number
  readonly jobCreateIndex: number
  readonly index: number
}

/** Spec W: Dispatch. Permission is the route's; then the request, the parent, the parts. */
export async function dispatchJob(
  context: WorkloadContext,
  caller: Caller,
  request: DispatchRequest,
): Promise<Result<JobDispatched, Refusal>> {
  const { store } = context
  const disabled = checkRegistrationEnabled(store, caller)
  if (disabled !== undefined) return err(disabled)
  const parts = partsOf(request)
  if (!parts.ok) return invalid(parts.error)
  const parent = store.tables.jobs.find(namespacedKey(request.namespace, request.jobId))
  if (parent === undefined) return err(refusal('job-not-found', 'parameterized job not found'))
  const problem = dispatchProblem(parent, parts.value)
  if (problem !== undefined) return invalid(problem)
  const known = findDispatched(context, parent, request.idempotencyToken)
  if (known !== undefined) {
    await store.settled()
    return ok(alreadyDispatched(known))
  }
  return commitChild(context, parent, { request, parts: parts.value })
}

function partsOf({ body = {}, jobId }: DispatchRequest): Result<DispatchParts, string> {
  if ((body.JobID ?? '') !== '' && body.JobID !== jobId) return err('Job ID does not match')
  const payload = readPayload(body.Payload ?? '')
  if (!payload.ok) return payload
  return ok({
    payload: payload.value.base64,
    payloadBytes: payload.value.bytes,
    meta: textMap(body.Meta) ?? {},
    priority: body.Priority ?? 0,
  })
}

/**
 * Reference §2.3: among the children that are still stored. Nothing is awaited between this and the
 * commit, so of two dispatches with one token the second always finds the child of the first.
 */
function findDispatched({ store }: WorkloadContext, parent: Job, token: string): Job | undefined {
  if (token === '') return undefined
  const key = dispatchKey(parent.Namespace, parent.ID, token)
  return store.tables.jobs.rowsIn('dispatch', key)[0]
}

function alreadyDispatched(child: Job): JobDispatched {
  return {
    childId: child.ID,
    evalId: '',
    evalCreateIndex: 0,
    jobCreateIndex: child.CreateIndex,
    index: child.ModifyIndex,
  }
}

interface Dispatch {
  readonly request: DispatchRequest
  readonly parts: DispatchParts
}

async function commitChild(
  context: WorkloadContext,
  parent: Job,
  { request, parts }: Dispatch,
): Promise<Result<JobDispatched, Refusal>> {
  const { store, ids } = context
  const id = freeId(context, parent, request.body?.IdPrefixTemplate ?? '')
  const problem = idProblem(id)
  if (problem !== undefined) return invalid(problem)
  const { idempotencyToken } = request
  const child = dispatchedChild(parent, parts, { id, idempotencyToken })
  const evalId = isParent(child) ? '' : ids.uuid()
  const { index, durable } = store.commit({
    cause: 'JobRegistered',
    changes: (stamp) =>
      childRows(store.tables, child, { stamp, ids, evalId, trigger: 'job-register' }),
  })
  await durable
  const evalCreateIndex = evalId === '' ? 0 : index
  return ok({ childId: id, evalId, evalCreateIndex, jobCreateIndex: index, index })
}

/** Draws of a suffix before one is free: each is taken by one in four thousand million. */
const DRAWS_MAX = 20

function freeId({ store, ids, clock }: WorkloadContext, parent: Job, prefix: string): string {
  const name = { parentId: parent.ID, prefix, timeMs: clock.nowMs() }
  const draw = (): string => dispatchedChildId({ ...name, suffix: ids.uuid().slice(0, 8) })
  let id = draw()
  for (let drawn = 1; store.tables.jobs.has(namespacedKey(parent.Namespace, id)); drawn++) {
    assert(drawn < DRAWS_MAX, 'random suffixes differ')
    id = draw()
  }
  return id
}

/** What holds for every job id, and what would fit no path (reference §2.4). */
function idProblem(id: string): string | undefined {
  if (id.includes(' ')) return 'Job ID contains a space'
  if (id.includes('\0')) return 'Job ID contains a null character'
  const most = LIMITS.pathParamCharsMax
  return id.length > most ? `Job ID is longer than ${most} characters` : undefined
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
