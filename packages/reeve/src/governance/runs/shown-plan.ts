import { Fault } from '@reeve/kit/fault.ts'
import type { RunPlanRow } from '../../model/index.ts'
import { organizationTenant, validatePlan, redactPlan } from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { readPlanBytes, type StoredPlanRow } from './plan-blobs.ts'

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
