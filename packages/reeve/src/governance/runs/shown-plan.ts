import type { RunPlanRow } from '../../model/index.ts'
import { planOf, redactPlan } from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { readStoredBytes } from './upload-plan.ts'

/**
 * The plan as callers see it: what it calls sensitive itself is masked; policies alone see that
 * (reference §5.4). Undefined before the upload.
 */
export async function readShownPlan(
  context: Pick<GovernanceContext, 'store'>,
  stored: Pick<RunPlanRow, 'id' | 'bytes'>,
): Promise<string | undefined> {
  const bytes = await readStoredBytes(context, stored)
  if (bytes === undefined) return undefined
  // It was read before it was stored.
  const plan = planOf(JSON.parse(new TextDecoder().decode(bytes)))
  return plan.ok ? JSON.stringify(redactPlan(plan.value)) : undefined
}
