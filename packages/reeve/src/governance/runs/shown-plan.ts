import { Fault } from '@reeve/kit/fault.ts'
import type { RunPlanRow } from '../../model/index.ts'
import { organizationTenant, planOf, redactPlan } from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { readStoredBytes, type StoredPlanRow } from './plan-blobs.ts'

/** A plan that is redacted here in a millisecond. */
const REDACTED_HERE_BYTES_MAX = 64 * 1024

/**
 * The plan as callers see it: what it calls sensitive itself is masked; policies alone see that.
 * Undefined before the upload. A large plan is redacted on a thread.
 */
export async function readShownPlan(
  context: Pick<GovernanceContext, 'store' | 'sealer' | 'policyAsker'>,
  stored: StoredPlanRow & Pick<RunPlanRow, 'organizationId'>,
): Promise<Uint8Array | undefined> {
  const bytes = await readStoredBytes(context, stored)
  if (bytes === undefined) return undefined
  const { policyAsker } = context
  if (bytes.length > REDACTED_HERE_BYTES_MAX && policyAsker.redactPlan !== undefined) {
    const origin = { tenant: organizationTenant(stored.organizationId) }
    const redacted = await policyAsker.redactPlan(bytes, origin)
    if (redacted.ok) return redacted.value
    throw new Fault('plan-unreadable', redacted.error)
  }
  // It was read before it was stored.
  const plan = planOf(JSON.parse(new TextDecoder().decode(bytes)))
  if (!plan.ok) return undefined
  return new TextEncoder().encode(JSON.stringify(redactPlan(plan.value)))
}
