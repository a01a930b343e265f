import type { Job, JobDispatchRequest } from '@reeve/contract'
import { assert } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  dispatchedChild,
  dispatchedChildId,
  dispatchRefusal,
  isParent,
  jobIdProblems,
  LIMITS,
  refusal,
  type DispatchParts,
  type Refusal,
} from '../../model/index.ts'
import { childRows, dispatchKey, namespacedKey, type Author } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  checkOverride,
  submitGuarded,
  type Allowed,
  type Prepared,
} from '../guarding/submit-guarded.ts'
import { checkRegistrationEnabled } from '../scheduler-configuration.ts'
import { textMap } from '../text-map.ts'
import { readPayload } from './payload.ts'
import { specificationKey } from './register.ts'
import { originOfRequest } from './versions.ts'

export interface DispatchRequest {
  readonly namespace: string
  readonly jobId: string
  /** Undefined if the request has none. */
  readonly body: JobDispatchRequest | undefined
  /** Empty if not given. */
  readonly idempotencyToken: string
}

export interface JobDispatched {
  readonly childId: string
  /** Empty if the child existed already, or is periodic or parameterized itself. */
  readonly evalId: string
  readonly evalCreateIndex: number
  readonly jobCreateIndex: number
  readonly index: number
  readonly warnings: readonly string[]
}

/** Checks the request, the parent and the payload; the route has checked permission. */
export async function dispatchJob(
  context: WorkloadContext,
  caller: RequestCaller,
  request: DispatchRequest,
): Promise<Result<JobDispatched, Refusal>> {
  const denied = checkOverride(caller, request.namespace, request.body ?? {})
  if (denied !== undefined) return err(denied)
  const disabled = checkRegistrationEnabled(context.store, caller)
  if (disabled !== undefined) return err(disabled)
  const parts = partsOf(request)
  if (!parts.ok) return invalid(parts.error)
  const draw = childIds(context, request)
  return await submitGuarded(
    context,
    { operation: 'dispatch', caller, override: request.body ?? {} },
    {
      prepare: () => prepareDispatch(context, { request, parts: parts.value, draw }),
      answered: ({ known }) =>
        known === undefined ? undefined : alreadyDispatched(context, known),
      write: ({ job }, allowed) => commitChild(context, caller, job, allowed),
    },
  )
}

interface Dispatch {
  readonly request: DispatchRequest
  readonly parts: DispatchParts
  /** Draws the ID of the child; the same one until it is taken. */
  readonly draw: () => string
}

interface PreparedDispatch extends Prepared {
  /** The child of an earlier dispatch with the same token. */
  readonly known: Job | undefined
}

function prepareDispatch(
  { store }: WorkloadContext,
  { request, parts, draw }: Dispatch,
): Result<PreparedDispatch, Refusal> {
  const { namespace, jobId, idempotencyToken } = request
  const parent = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (parent === undefined) return err(refusal('job-not-found', 'parameterized job not found'))
  const refused = dispatchRefusal(parent, parts)
  if (refused !== undefined) return err(refused)
  const known = findDispatched(store, parent, idempotencyToken)
  const shared = { existing: undefined, jobId }
  if (known !== undefined) return ok({ ...shared, job: known, key: '', known })
  const id = draw()
  const idIsWrong = idProblem(id)
  if (idIsWrong !== undefined) return invalid(idIsWrong)
  const job = dispatchedChild(parent, parts, { id, idempotencyToken })
  return ok({ ...shared, job, key: `${specificationKey(parent)}/${id}`, known })
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
 * Finds the child of an earlier dispatch among the stored ones. Nothing is awaited between this and
 * the commit, so the second of two dispatches with one token always finds the first.
 */
function findDispatched(
  store: WorkloadContext['store'],
  parent: Job,
  token: string,
): Job | undefined {
  if (token === '') return undefined
  const key = dispatchKey(parent.Namespace, parent.ID, token)
  return store.tables.jobs.rowsIn('dispatch', key)[0]
}

async function alreadyDispatched({ store }: WorkloadContext, child: Job): Promise<JobDispatched> {
  await store.settled()
  return {
    childId: child.ID,
    evalId: '',
    evalCreateIndex: 0,
    jobCreateIndex: child.CreateIndex,
    index: child.ModifyIndex,
    warnings: [],
  }
}

async function commitChild(
  { store, ids }: WorkloadContext,
  { by }: Author,
  child: Job,
  { warnings, record }: Allowed,
): Promise<JobDispatched> {
  const evalId = isParent(child) ? '' : ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'JobRegistered',
    blobs: record.blobs,
    changes: (stamp) => [
      ...childRows(store.tables, child, {
        stamp,
        ids,
        evalId,
        trigger: 'job-register',
        origin: { ...originOfRequest({ by }), origin: 'dispatch' },
      }),
      ...record.changes(stamp),
    ],
  })
  await durable
  const evalCreateIndex = evalId === '' ? 0 : index
  return { childId: child.ID, evalId, evalCreateIndex, jobCreateIndex: index, index, warnings }
}

/**
 * Maximum number of attempts to find a free suffix: each is taken with a probability of one in four
 * billion.
 */
const DRAWS_MAX = 20

function childIds(
  { store, ids, clock }: WorkloadContext,
  { namespace, jobId, body }: DispatchRequest,
): () => string {
  const name = { parentId: jobId, prefix: body?.IdPrefixTemplate ?? '', timeMs: clock.nowMs() }
  const draw = (): string => dispatchedChildId({ ...name, suffix: ids.uuid().slice(0, 8) })
  let id: string | undefined
  return () => {
    id ??= draw()
    for (let drawn = 1; store.tables.jobs.has(namespacedKey(namespace, id)); drawn++) {
      assert(drawn < DRAWS_MAX, 'random suffixes differ')
      id = draw()
    }
    return id
  }
}

/** Returns the problem of a job ID, which includes one that is too long for a path. */
function idProblem(id: string): string | undefined {
  const most = LIMITS.pathParamCharsMax
  return (
    jobIdProblems(id)[0] ??
    (id.length > most ? `Job ID is longer than ${most} characters` : undefined)
  )
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
