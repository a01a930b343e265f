import { assert } from '@reeve/kit/fault.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS, type PlanPartRow, type RunPlanRow } from '../../model/index.ts'
import {
  planKey,
  planPartKey,
  put,
  remove,
  type Change,
  type Store,
  type Tables,
} from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'

/** Blob parts of a plan for the commit that completes its upload. */
export interface StoredPlan {
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
  const parts = partsOf(plan, bytes)
  const last = parts.at(-1)
  const sealed = ({ key, bytes: plain }: PlanBlob): PlanBlob => ({
    key,
    bytes: sealer.sealBytes(plain),
  })
  if (last === undefined) {
    const blob = sealed({ key: planKey(plan.id), bytes })
    return { changes: partsEnd(store.tables, plan.id), blobs: [blob] }
  }
  for (const { row, blob } of parts.slice(0, -1)) {
    if (!isWanted()) break
    await commit(store, [put('plan_parts', row)], [sealed(blob)])
  }
  if (!isWanted()) {
    await commit(store, partsEnd(store.tables, plan.id), [])
    return undefined
  }
  const known = new Set(parts.map(({ row }) => row.id))
  // A previous, aborted upload may have stored more parts.
  const left = [...store.tables.plan_parts.keysIn('plan', plan.id)].filter((id) => !known.has(id))
  const changes = [put('plan_parts', last.row), ...left.map((id) => remove('plan_parts', id))]
  return { changes, blobs: [sealed(last.blob)] }
}

interface PlanPart {
  readonly row: PlanPartRow
  readonly blob: PlanBlob
}

/** Returns no parts for a plan that fits into one commit. */
function partsOf(plan: RunPlanRow, bytes: Uint8Array): readonly PlanPart[] {
  const size = LIMITS.planPartBytes
  if (bytes.length <= size) return []
  const { organizationId, workspaceId, runId, id: planId } = plan
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => {
    const id = `${planId}/${String(at).padStart(PART_DIGITS, '0')}`
    return {
      row: { id, organizationId, workspaceId, runId, planId },
      blob: { key: planPartKey(id), bytes: bytes.subarray(at * size, (at + 1) * size) },
    }
  })
}

const PART_DIGITS = 6

function partsEnd({ plan_parts }: Tables, planId: string): readonly Change[] {
  return [...plan_parts.keysIn('plan', planId)].map((id) => remove('plan_parts', id))
}

async function commit(
  store: Store,
  changes: readonly Change[],
  blobs: StoredPlan['blobs'],
): Promise<void> {
  // A part emits no event; the audit log has one record for the whole upload.
  await store.commit({ by: 'system', cause: undefined, changes: () => changes, blobs }).durable
}

/** Fields of a row that locate the bytes of a plan. */
export type StoredPlanRow = Pick<RunPlanRow, 'id' | 'bytes' | 'isSealed'>

/**
 * Returns the plan as uploaded; undefined before that, and after deletion. A large one is in shared
 * memory.
 */
export async function readStoredBytes(
  { store, sealer }: PlanContext,
  { id, bytes, isSealed = false }: StoredPlanRow,
): Promise<Uint8Array | undefined> {
  if (bytes === null) return undefined
  const read = async (key: string): Promise<Uint8Array | undefined> => {
    const stored = await store.readBlob(key)
    return stored === undefined || !isSealed ? stored : sealer.openBytes(stored)
  }
  await store.settled()
  const partIds = [...store.tables.plan_parts.keysIn('plan', id)].toSorted(compareText)
  if (partIds.length === 0) return await read(planKey(id))
  const whole = new Uint8Array(new SharedArrayBuffer(bytes))
  let at = 0
  for (const partId of partIds) {
    const part = await read(planPartKey(partId))
    if (part === undefined) return undefined
    assert(at + part.length <= bytes, 'parts have the bytes of their plan')
    whole.set(part, at)
    at += part.length
  }
  return at === bytes ? whole : undefined
}
