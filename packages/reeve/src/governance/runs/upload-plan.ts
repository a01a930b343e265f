import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunPlanRow, RunRow } from '../../model/index.ts'
import {
  inspectPlan,
  organizationTenant,
  type AskingOrigin,
  type InspectedPlan,
  type PlanFacts,
} from '../../policy/index.ts'
import { put } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findPlan, type SeenRun } from './find-run.ts'
import { freezeSets, pinCode, sealSets, type FrozenSet } from './frozen-sets.ts'
import { storePlanParts } from './plan-blobs.ts'
import { waitingRows } from './policy-rows.ts'
import { afterPolicies } from './run-progress.ts'
import { movedRun, stamped } from './run-states.ts'

export interface PlanUpload {
  readonly planId: string
  readonly bytes: Uint8Array
}

/** Stores the plan and a snapshot of the policies; the run loop evaluates them. */
export async function uploadPlan(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { planId, bytes }: PlanUpload,
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const text = await unzipped(bytes)
  if (!text.ok) return text
  const first = findUploadable(context, caller, planId)
  if (!first.ok) return first
  const origin = { tenant: organizationTenant(first.value.run.organizationId) }
  const facts = await inspectedPlan(context, text.value, origin)
  if (!facts.ok) return err({ code: 'unprocessable', detail: facts.error })
  const stored = await oneUpload(context, planId, () =>
    storeUpload(context, caller, { planId, facts: facts.value }),
  )
  // Freed only without a commit: one that failed, which throws, may still read the bytes.
  releaseBytes(facts.value.bytes)
  return stored
}

/** IDs of plans with a running upload, by state. */
const uploading = new WeakMap<object, Set<string>>()

/** Rejects concurrent uploads of one plan, which would mix their parts. */
async function oneUpload(
  { store }: GovernanceContext,
  planId: string,
  upload: () => Promise<Result<SeenRun, GovernanceRefusal>>,
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const plans = uploading.get(store) ?? new Set()
  uploading.set(store, plans)
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
  { planId, facts }: { readonly planId: string; readonly facts: InspectedPlan },
): Promise<Result<SeenRun, GovernanceRefusal>> {
  // Decompressing, parsing and storing take time, so the plan is looked up again at the end.
  const find = (): Result<SeenRun, GovernanceRefusal> => findUploadable(context, caller, planId)
  const first = find()
  if (!first.ok) return first
  const { bytes } = facts
  const isWanted = (): boolean => find().ok
  const stored = await storePlanParts(context, first.value.plan, { bytes, isWanted })
  const seen = find()
  if (!seen.ok) return seen
  if (stored === undefined)
    return err({ code: 'conflict', detail: 'The run did not wait for its plan any more' })
  const sets = freezeSets(context, seen.value.workspace.id)
  const ingested = ingest(context, seen.value, { facts, sets })
  const { run } = ingested
  const plan = { ...ingested.plan, bytes: bytes.length, isSealed: true }
  await commitWrite(context, {
    action: 'RunPlanUploaded',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id, plan.id],
    changes: [
      put('runs', run),
      put('run_plans', plan),
      ...stored.changes,
      ...waitingRows(context, run, sets),
      ...pinCode(context, sets, plan),
    ],
    blobs: stored.blobs,
  })
  return ok({ ...seen.value, run, plan })
}

/** Returns the plan if the caller may upload it and the run waits for it. */
function findUploadable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  planId: string,
): Result<SeenRun, GovernanceRefusal> {
  const seen = findPlan(context, caller, { planId, right: 'queuePlan' })
  if (!seen.ok) return seen
  const { run, plan } = seen.value
  if (plan.bytes !== null) return err({ code: 'conflict', detail: 'The run has a plan already' })
  if (run.status !== 'pending')
    return err({ code: 'conflict', detail: `The run is ${run.status}: it takes no plan any more` })
  return seen
}

const gunzipAsync = promisify(gunzip)
const GZIP_MAGIC = [0x1f, 0x8b] as const

/** A plan may be gzipped without a content encoding. */
async function unzipped(bytes: Uint8Array): Promise<Result<Uint8Array, GovernanceRefusal>> {
  const isZipped = GZIP_MAGIC.every((byte, at) => bytes[at] === byte)
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
const READ_HERE_BYTES_MAX = 64 * 1024

/** Returns the bytes to continue with; those passed in may have been transferred. */
export async function inspectedPlan(
  { policyAsker }: Pick<GovernanceContext, 'policyAsker'>,
  bytes: Uint8Array,
  origin: AskingOrigin,
): Promise<Result<InspectedPlan, string>> {
  if (bytes.length > READ_HERE_BYTES_MAX && policyAsker.inspectPlan !== undefined)
    return await policyAsker.inspectPlan(bytes, origin)
  const facts = inspectPlan(bytes, decode)
  return facts.ok ? ok({ ...facts.value, bytes }) : facts
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

interface Ingested {
  readonly facts: PlanFacts
  readonly sets: readonly FrozenSet[]
}

function ingest(
  context: GovernanceContext,
  { run: before, plan }: SeenRun,
  { facts, sets }: Ingested,
): { readonly run: RunRow; readonly plan: RunPlanRow } {
  const nowMs = context.clock.nowMs()
  const { counts, hasChanges } = facts
  const run = { ...before, hasChanges }
  // Without policies there is nothing to wait for.
  const rest = sets.length > 0 ? (['post_plan_running'] as const) : afterPolicies(run)
  return {
    run: movedRun(run, ['planning', 'planned', ...rest], nowMs),
    plan: {
      ...plan,
      counts,
      hasChanges,
      status: 'finished',
      statusMs: stamped(plan.statusMs, 'finished', nowMs),
      frozenSets: sets.length > 0 ? sealSets(context, sets) : null,
    },
  }
}
