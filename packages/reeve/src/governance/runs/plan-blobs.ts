import { assert } from '@reeve/kit/fault.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS, type PlanPartRow, type RunPlanRow } from '../../model/index.ts'
import {
  planBlobKey,
  planPartBlobKey,
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
  // A part emits no event; the audit log has one record for the whole upload.
  await store.commit({ by: 'system', cause: undefined, changes: () => changes, blobs }).durable
}

/** Fields of a row that locate the bytes of a plan. */
export type StoredPlanRow = Pick<RunPlanRow, 'id' | 'bytes' | 'isSealed'>

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
