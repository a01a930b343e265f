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
  type DispatchInput,
  type Refusal,
} from '../../model/index.ts'
import { childJobRows, dispatchKey, namespacedKey, type Author } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  checkOverridePermission,
  enforceAndWrite,
  type EnforcementResult,
  type PreparedWrite,
} from '../guarding/submit-guarded.ts'
import { checkRegistrationEnabled } from '../scheduler-configuration.ts'
import { stringMap } from '../text-map.ts'
import { parseBase64Payload } from './payload.ts'
import { specKey } from './register.ts'
import { originOfRequest } from './versions.ts'

export interface DispatchRequest {
  readonly namespace: string
  readonly jobId: string
  /** Undefined if the request has none. */
  readonly body: JobDispatchRequest | undefined
  /** Empty if not given. */
  readonly idempotencyToken: string
}

export interface DispatchResult {
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
): Promise<Result<DispatchResult, Refusal>> {
  const denied = checkOverridePermission(caller, request.namespace, request.body ?? {})
  if (denied !== undefined) return err(denied)
  const disabled = checkRegistrationEnabled(context.store, caller)
  if (disabled !== undefined) return err(disabled)
  const input = parseDispatchRequest(request)
  if (!input.ok) return invalid(input.error)
  const draw = childIdGenerator(context, request)
  return await enforceAndWrite(
    context,
    { operation: 'dispatch', caller, override: request.body ?? {} },
    {
      prepare: () => prepareDispatch(context, { request, input: input.value, nextChildId: draw }),
      findPreviousResponse: ({ existingChild }) =>
        existingChild === undefined ? undefined : earlierDispatchResult(context, existingChild),
      write: ({ job }, allowed) => registerChild(context, caller, job, allowed),
    },
  )
}

interface DispatchContext {
  readonly request: DispatchRequest
  readonly input: DispatchInput
  /** Draws the ID of the child; the same one until it is taken. */
  readonly nextChildId: () => string
}

interface PreparedDispatch extends PreparedWrite {
  /** The child of an earlier dispatch with the same token. */
  readonly existingChild: Job | undefined
}

function prepareDispatch(
  { store }: WorkloadContext,
  { request, input, nextChildId }: DispatchContext,
): Result<PreparedDispatch, Refusal> {
  const { namespace, jobId, idempotencyToken } = request
  const parent = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (parent === undefined) return err(refusal('job-not-found', 'parameterized job not found'))
  const refused = dispatchRefusal(parent, input)
  if (refused !== undefined) return err(refused)
  const existingChild = findEarlierDispatch(store, parent, idempotencyToken)
  const shared = { existing: undefined, jobId }
  if (existingChild !== undefined)
    return ok({ ...shared, job: existingChild, key: '', existingChild })
  const id = nextChildId()
  const idError = childIdProblem(id)
  if (idError !== undefined) return invalid(idError)
  const job = dispatchedChild(parent, input, { id, idempotencyToken })
  return ok({ ...shared, job, key: `${specKey(parent)}/${id}`, existingChild })
}

function parseDispatchRequest({
  body = {},
  jobId,
}: DispatchRequest): Result<DispatchInput, string> {
  if ((body.JobID ?? '') !== '' && body.JobID !== jobId) return err('Job ID does not match')
  const payload = parseBase64Payload(body.Payload ?? '')
  if (!payload.ok) return payload
  return ok({
    payload: payload.value.base64,
    payloadBytes: payload.value.bytes,
    meta: stringMap(body.Meta) ?? {},
    priority: body.Priority ?? 0,
  })
}

/**
 * Finds the child of an earlier dispatch among the stored ones. Nothing is awaited between this and
 * the commit, so the second of two dispatches with one token always finds the first.
 */
function findEarlierDispatch(
  store: WorkloadContext['store'],
  parent: Job,
  token: string,
): Job | undefined {
  if (token === '') return undefined
  const key = dispatchKey(parent.Namespace, parent.ID, token)
  return store.tables.jobs.rowsByIndex('dispatch', key)[0]
}

async function earlierDispatchResult(
  { store }: WorkloadContext,
  existingChild: Job,
): Promise<DispatchResult> {
  await store.whenDurable()
  return {
    childId: existingChild.ID,
    evalId: '',
    evalCreateIndex: 0,
    jobCreateIndex: existingChild.CreateIndex,
    index: existingChild.ModifyIndex,
    warnings: [],
  }
}

async function registerChild(
  { store, ids }: WorkloadContext,
  { by }: Author,
  child: Job,
  { warnings, record }: EnforcementResult,
): Promise<DispatchResult> {
  const evalId = isParent(child) ? '' : ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'JobRegistered',
    blobs: record.blobs,
    changes: (stamp) => [
      ...childJobRows(store.tables, child, {
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
const ID_ATTEMPTS_MAX = 20

function childIdGenerator(
  { store, ids, clock }: WorkloadContext,
  { namespace, jobId, body }: DispatchRequest,
): () => string {
  const name = { parentId: jobId, prefix: body?.IdPrefixTemplate ?? '', timeMs: clock.nowMs() }
  const generateId = (): string => dispatchedChildId({ ...name, suffix: ids.uuid().slice(0, 8) })
  let id: string | undefined
  return () => {
    id ??= generateId()
    for (let attempts = 1; store.tables.jobs.has(namespacedKey(namespace, id)); attempts++) {
      assert(attempts < ID_ATTEMPTS_MAX, 'random suffixes differ')
      id = generateId()
    }
    return id
  }
}

/** Returns the problem of a job ID, which includes one that is too long for a path. */
function childIdProblem(id: string): string | undefined {
  const charsMax = LIMITS.pathParamCharsMax
  return (
    jobIdProblems(id)[0] ??
    (id.length > charsMax ? `Job ID is longer than ${charsMax} characters` : undefined)
  )
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
