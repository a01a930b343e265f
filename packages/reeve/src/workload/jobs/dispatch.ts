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
  isActivePeriodic,
  periodicChild,
  invalidInput,
} from '../../model/index.ts'
import {
  childJobRows,
  dispatchKey,
  namespacedKey,
  type Author,
  type Tables,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  checkOverridePermission,
  enforceAndWrite,
  type EnforcementResult,
  type PreparedWrite,
} from '../policy-enforcement/enforce.ts'
import { checkRegistrationEnabled } from '../operator.ts'
import { stringMap } from '../text-map.ts'
import { specKey } from './job-commit.ts'
import { originOfRequest } from './versions.ts'

interface DispatchRequest {
  readonly namespace: string
  readonly jobId: string
  /** Undefined if the request has none. */
  readonly body: JobDispatchRequest | undefined
  /** Empty if not given. */
  readonly idempotencyToken: string
}

interface DispatchResult {
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
  if (!input.ok) return invalidInput(input.error)
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
  if (idError !== undefined) return invalidInput(idError)
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

/** A payload as it is stored: base64 without line breaks. */
interface Payload {
  readonly base64: string
  readonly bytes: number
}

/** Reads base64 as clients write it: line breaks are ignored. */
export function parseBase64Payload(text: string): Result<Payload, string> {
  const at = firstInvalidChar(text)
  if (at !== undefined) return err(`illegal base64 data at input byte ${at}`)
  const base64 = text.replaceAll(/[\r\n]/g, '')
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return ok({ base64, bytes: (base64.length / 4) * 3 - padding })
}

const BASE64_CHAR = /[A-Za-z0-9+/]/
const PADDING = '='

/** Returns the position of the first invalid character; undefined if the text is valid. */
function firstInvalidChar(text: string): number | undefined {
  let charCount = 0
  for (let position = 0; position < text.length; position++) {
    const char = text.charAt(position)
    if (isLineBreak(char)) continue
    if (char === PADDING) return invalidPaddingAt(text, position, charCount % 4)
    if (!BASE64_CHAR.test(char)) return position
    charCount += 1
  }
  // Otherwise the last group is incomplete.
  return charCount % 4 === 0 ? undefined : text.length - (charCount % 4)
}

/**
 * Checks the padding: two characters after two letters of a group, one after three, and then the
 * end.
 */
function invalidPaddingAt(text: string, start: number, charsInGroup: number): number | undefined {
  if (charsInGroup < 2) return start
  let missing = 4 - charsInGroup
  for (let position = start; position < text.length; position++) {
    const char = text.charAt(position)
    if (isLineBreak(char)) continue
    if (char !== PADDING || missing === 0) return position
    missing -= 1
  }
  return missing === 0 ? undefined : text.length
}

function isLineBreak(char: string): boolean {
  return char === '\n' || char === '\r'
}

interface LaunchResult {
  /** Empty if the child is itself periodic or parameterized. */
  readonly evalId: string
  readonly index: number
}

/**
 * Launches an instance outside of the schedule, regardless of overlaps. The schedule is not
 * affected.
 */
export async function forcePeriodicJob(
  { store, ids }: WorkloadContext,
  { by }: Author,
  { namespace, jobId }: { readonly namespace: string; readonly jobId: string },
): Promise<Result<LaunchResult, Refusal>> {
  const parent = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (parent === undefined) return err(refusal('job-not-found', 'job not found'))
  if (parent.Periodic === null)
    return err(refusal('invalid-input', "can't force launch non-periodic job"))
  if (!isActivePeriodic(parent))
    return err(refusal('invalid-input', notPeriodicText(namespace, jobId)))
  const evalId = ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'JobRegistered',
    changes: (stamp) =>
      childJobRows(store.tables, nextFreeInstance(store.tables, parent, stamp.timeMs), {
        stamp,
        ids,
        evalId,
        trigger: 'periodic-job',
        origin: { ...originOfRequest({ by }), origin: 'periodic' },
      }),
  })
  await durable
  return ok({ evalId, index })
}

/**
 * Instances are named by the second of their launch. If the current one is taken, the latest free
 * one before it is used, because later ones belong to the schedule.
 */
function nextFreeInstance({ jobs }: Tables, parent: Job, nowMs: number): Job {
  for (let launchMs = nowMs; ; launchMs -= 1_000) {
    const child = periodicChild(parent, launchMs)
    if (!jobs.has(namespacedKey(child.Namespace, child.ID))) return child
  }
}

/** Text required by the API contract. */
function notPeriodicText(namespace: string, jobId: string): string {
  const id = JSON.stringify(jobId)
  return `force launch for job ${id} failed: can't force run non-tracked job ${id} (${namespace})`
}
