import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  type GovernanceRefusal,
  LIMITS,
  type PlanPartRow,
  type RunPlanRow,
  type RunRow,
} from '../../model/index.ts'
import {
  summarizePlan,
  organizationTenant,
  type EvaluationOrigin,
  type InspectedPlan,
  type PlanSummary,
  validatePlan,
  redactPlan,
} from '../../policy/index.ts'
import {
  type Change,
  planBlobKey,
  planPartBlobKey,
  put,
  remove,
  type Store,
  type Tables,
} from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitSystemWrite, commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findPlan, type VisibleRun } from './find-run.ts'
import {
  snapshotPolicySets,
  pinCodeChanges,
  sealSnapshots,
  type PolicySetSnapshot,
  pendingEvaluationChanges,
} from './policy-set-snapshots.ts'
import { nextAfterPolicies, transitionRun, withStatusTime } from './run-status.ts'

interface PlanUpload {
  readonly planId: string
  readonly bytes: Uint8Array
}

/** Stores the plan and a snapshot of the policies; the run loop evaluates them. */
export async function uploadPlan(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { planId, bytes }: PlanUpload,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const text = await gunzipIfNeeded(bytes)
  if (!text.ok) return text
  const first = findUploadablePlan(context, caller, planId)
  if (!first.ok) return first
  const origin = { tenant: organizationTenant(first.value.run.organizationId) }
  const inspected = await inspectPlanBytes(context, text.value, origin)
  if (!inspected.ok) return err({ code: 'unprocessable', detail: inspected.error })
  const stored = await rejectConcurrentUpload(context, planId, () =>
    storeUpload(context, caller, { planId, inspected: inspected.value }),
  )
  // Freed only without a commit: one that failed, which throws, may still read the bytes.
  releaseBytes(inspected.value.bytes)
  return stored
}

/** IDs of plans with a running upload, by state. */
const uploadingPlans = new WeakMap<object, Set<string>>()

/** Rejects concurrent uploads of one plan, which would mix their parts. */
async function rejectConcurrentUpload(
  { store }: GovernanceContext,
  planId: string,
  upload: () => Promise<Result<VisibleRun, GovernanceRefusal>>,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const plans = uploadingPlans.get(store) ?? new Set()
  uploadingPlans.set(store, plans)
  if (plans.has(planId))
    return err({ code: 'conflict', detail: 'The plan of the run is being uploaded already' })
  plans.add(planId)
  try {
    return await upload()
  } finally {
    plans.delete(planId)
  }
}

async function storeUpload(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { planId, inspected }: { readonly planId: string; readonly inspected: InspectedPlan },
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  // Decompressing, parsing and storing take time, so the plan is looked up again at the end.
  const find = (): Result<VisibleRun, GovernanceRefusal> =>
    findUploadablePlan(context, caller, planId)
  const first = find()
  if (!first.ok) return first
  const { bytes } = inspected
  const isWanted = (): boolean => find().ok
  const stored = await storePlanParts(context, first.value.plan, { bytes, isWanted })
  const found = find()
  if (!found.ok) return found
  if (stored === undefined)
    return err({ code: 'conflict', detail: 'The run did not wait for its plan any more' })
  const sets = snapshotPolicySets(context, found.value.workspace.id)
  const updated = applyPlanSummary(context, found.value, { summary: inspected, sets })
  const { run } = updated
  const plan = { ...updated.plan, bytes: bytes.length, isSealed: true }
  await commitWrite(context, {
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id, plan.id],
    changes: [
      put('runs', run),
      put('run_plans', plan),
      ...stored.changes,
      ...pendingEvaluationChanges(context, run, sets),
      ...pinCodeChanges(context, sets, plan),
    ],
    blobs: stored.blobs,
  })
  return ok({ ...found.value, run, plan })
}

/** Returns the plan if the caller may upload it and the run waits for it. */
function findUploadablePlan(
  context: GovernanceContext,
  caller: GovernanceCaller,
  planId: string,
): Result<VisibleRun, GovernanceRefusal> {
  const found = findPlan(context, caller, { planId, right: 'queuePlan' })
  if (!found.ok) return found
  const { run, plan } = found.value
  if (plan.bytes !== null) return err({ code: 'conflict', detail: 'The run has a plan already' })
  if (run.status !== 'pending')
    return err({ code: 'conflict', detail: `The run is ${run.status}: it takes no plan any more` })
  return found
}

const gunzipAsync = promisify(gunzip)
const GZIP_MAGIC = [0x1f, 0x8b] as const

/** A plan may be gzipped without a content encoding. */
async function gunzipIfNeeded(bytes: Uint8Array): Promise<Result<Uint8Array, GovernanceRefusal>> {
  const isZipped = GZIP_MAGIC.every((byte, index) => bytes[index] === byte)
  if (!isZipped) return ok(bytes)
  const bytesMax = v2.PLAN_UPLOAD_BYTES_MAX
  try {
    return ok(await gunzipAsync(bytes, { maxOutputLength: bytesMax }))
  } catch (thrown) {
    // All errors are caused by the bytes.
    const isLarge = thrown instanceof RangeError
    return err(
      isLarge
        ? { code: 'too-large', bytesMax }
        : { code: 'unprocessable', detail: 'The plan is not the gzip file that it begins as' },
    )
  }
}

/**
 * Plans up to this size are parsed on the event loop in about a millisecond; larger ones on a
 * thread.
 */
const INLINE_PARSE_BYTES_MAX = 64 * 1024

/** Returns the bytes to continue with; those passed in may have been transferred. */
export async function inspectPlanBytes(
  { policyEngine }: Pick<GovernanceContext, 'policyEngine'>,
  bytes: Uint8Array,
  origin: EvaluationOrigin,
): Promise<Result<InspectedPlan, string>> {
  if (bytes.length > INLINE_PARSE_BYTES_MAX && policyEngine.inspectPlan !== undefined)
    return await policyEngine.inspectPlan(bytes, origin)
  const inspected = summarizePlan(bytes, decode)
  return inspected.ok ? ok({ ...inspected.value, bytes }) : inspected
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

interface PlanOutcome {
  readonly summary: PlanSummary
  readonly sets: readonly PolicySetSnapshot[]
}

function applyPlanSummary(
  context: GovernanceContext,
  { run: before, plan }: VisibleRun,
  { summary, sets }: PlanOutcome,
): { readonly run: RunRow; readonly plan: RunPlanRow } {
  const nowMs = context.clock.nowMs()
  const { counts, hasChanges } = summary
  const run = { ...before, hasChanges }
  // Without policies there is nothing to wait for.
  const nextStatuses = sets.length > 0 ? (['post_plan_running'] as const) : nextAfterPolicies(run)
  return {
    run: transitionRun(run, ['planning', 'planned', ...nextStatuses], nowMs),
    plan: {
      ...plan,
      counts,
      hasChanges,
      status: 'finished',
      statusMs: withStatusTime(plan.statusMs, 'finished', nowMs),
      frozenSets: sets.length > 0 ? sealSnapshots(context, sets) : null,
    },
  }
}

/** Blob parts of a plan for the commit that completes its upload. */
interface StoredPlan {
  readonly changes: readonly Change[]
  readonly blobs: readonly PlanBlob[]
}

interface PlanBlob {
  readonly key: string
  readonly bytes: Uint8Array
}

type PlanContext = Pick<GovernanceContext, 'store' | 'sealer'>

/**
 * Stores all of a large plan but its last part, encrypted, one part per commit, so that other
 * commits are interleaved (decision 0081). Returns the rest for the commit that completes the
 * upload; until then the parts are not readable. `isWanted` is checked before each part: if it
 * returns false, stored parts are deleted and the result is undefined.
 */
export async function storePlanParts(
  { store, sealer }: PlanContext,
  plan: RunPlanRow,
  { bytes, isWanted }: { readonly bytes: Uint8Array; readonly isWanted: () => boolean },
): Promise<StoredPlan | undefined> {
  const parts = splitPlan(plan, bytes)
  const last = parts.at(-1)
  const sealPart = ({ key, bytes: plain }: PlanBlob): PlanBlob => ({
    key,
    bytes: sealer.sealBytes(plain),
  })
  if (last === undefined) {
    const blob = sealPart({ key: planBlobKey(plan.id), bytes })
    return { changes: deletePlanPartsChanges(store.tables, plan.id), blobs: [blob] }
  }
  for (const { row, blob } of parts.slice(0, -1)) {
    if (!isWanted()) break
    await commitPart(store, [put('plan_parts', row)], [sealPart(blob)])
  }
  if (!isWanted()) {
    await commitPart(store, deletePlanPartsChanges(store.tables, plan.id), [])
    return undefined
  }
  const partIds = new Set(parts.map(({ row }) => row.id))
  // A previous, aborted upload may have stored more parts.
  const staleIds = [...store.tables.plan_parts.keysByIndex('plan', plan.id)].filter(
    (id) => !partIds.has(id),
  )
  const changes = [put('plan_parts', last.row), ...staleIds.map((id) => remove('plan_parts', id))]
  return { changes, blobs: [sealPart(last.blob)] }
}

interface PlanPart {
  readonly row: PlanPartRow
  readonly blob: PlanBlob
}

/** Returns no parts for a plan that fits into one commit. */
function splitPlan(plan: RunPlanRow, bytes: Uint8Array): readonly PlanPart[] {
  const size = LIMITS.planPartBytes
  if (bytes.length <= size) return []
  const { organizationId, workspaceId, runId, id: planId } = plan
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => {
    const id = `${planId}/${String(index).padStart(PART_DIGITS, '0')}`
    return {
      row: { id, organizationId, workspaceId, runId, planId },
      blob: { key: planPartBlobKey(id), bytes: bytes.subarray(index * size, (index + 1) * size) },
    }
  })
}

const PART_DIGITS = 6

function deletePlanPartsChanges({ plan_parts }: Tables, planId: string): readonly Change[] {
  return [...plan_parts.keysByIndex('plan', planId)].map((id) => remove('plan_parts', id))
}

async function commitPart(
  store: Store,
  changes: readonly Change[],
  blobs: StoredPlan['blobs'],
): Promise<void> {
  // The audit log has one record for the whole upload.
  await commitSystemWrite({ store }, { changes, blobs, emitsEvents: false }).durable
}

/** Fields of a row that locate the bytes of a plan. */
type StoredPlanRow = Pick<RunPlanRow, 'id' | 'bytes' | 'isSealed'>

/**
 * Returns the plan as uploaded; undefined before that, and after deletion. A large one is in shared
 * memory.
 */
export async function readPlanBytes(
  { store, sealer }: PlanContext,
  { id, bytes, isSealed = false }: StoredPlanRow,
): Promise<Uint8Array | undefined> {
  if (bytes === null) return undefined
  const read = async (key: string): Promise<Uint8Array | undefined> => {
    const stored = await store.readBlob(key)
    return stored === undefined || !isSealed ? stored : sealer.openBytes(stored)
  }
  await store.whenDurable()
  const partIds = [...store.tables.plan_parts.keysByIndex('plan', id)].toSorted(compareText)
  if (partIds.length === 0) return await read(planBlobKey(id))
  const plan = new Uint8Array(new SharedArrayBuffer(bytes))
  let offset = 0
  for (const partId of partIds) {
    const part = await read(planPartBlobKey(partId))
    if (part === undefined) return undefined
    assert(offset + part.length <= bytes, 'parts have the bytes of their plan')
    plan.set(part, offset)
    offset += part.length
  }
  return offset === bytes ? plan : undefined
}

/** Plans up to this size are redacted on the event loop, in about a millisecond. */
const INLINE_REDACTION_BYTES_MAX = 64 * 1024

/**
 * Returns the plan with its sensitive values redacted, as callers see it; only policies see those
 * values. Undefined before the upload. A large plan is redacted on a worker.
 */
export async function readRedactedPlan(
  context: Pick<GovernanceContext, 'store' | 'sealer' | 'policyEngine'>,
  stored: StoredPlanRow & Pick<RunPlanRow, 'organizationId'>,
): Promise<Uint8Array | undefined> {
  const bytes = await readPlanBytes(context, stored)
  if (bytes === undefined) return undefined
  const { policyEngine } = context
  if (bytes.length > INLINE_REDACTION_BYTES_MAX && policyEngine.redactPlan !== undefined) {
    const origin = { tenant: organizationTenant(stored.organizationId) }
    const redacted = await policyEngine.redactPlan(bytes, origin)
    if (redacted.ok) return redacted.value
    throw new Fault('plan-unreadable', redacted.error)
  }
  // The plan was validated before it was stored.
  const plan = validatePlan(JSON.parse(new TextDecoder().decode(bytes)))
  if (!plan.ok) return undefined
  return new TextEncoder().encode(JSON.stringify(redactPlan(plan.value)))
}
