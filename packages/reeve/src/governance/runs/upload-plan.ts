import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunPlanRow, RunRow } from '../../model/index.ts'
import {
  summarizePlan,
  organizationTenant,
  type EvaluationOrigin,
  type InspectedPlan,
  type PlanSummary,
} from '../../policy/index.ts'
import { put } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findPlan, type VisibleRun } from './find-run.ts'
import {
  snapshotPolicySets,
  pinCodeChanges,
  sealSnapshots,
  type PolicySetSnapshot,
} from './frozen-sets.ts'
import { storePlanParts } from './plan-blobs.ts'
import { pendingEvaluationChanges } from './policy-rows.ts'
import { nextAfterPolicies } from './run-progress.ts'
import { transitionRun, withStatusTime } from './run-states.ts'

export interface PlanUpload {
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
    action: 'RunPlanUploaded',
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
