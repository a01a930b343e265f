import type { Deployment, DeploymentPromoteRequest } from '@reeve/contract'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  groupsAwaitingPromotion,
  groupStateOf,
  promotionProblems,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import { promotionRows } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  checkNotTerminal,
  findDeployment,
  checkBodyDeploymentId,
  type DeploymentWriteResult,
} from './deployment-writes.ts'

export interface PromoteRequest {
  readonly id: string
  readonly body: DeploymentPromoteRequest
}

/**
 * Promotes the canaries of the groups. All or none: if one group has too few healthy canaries the
 * request is rejected.
 */
export async function promoteDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: PromoteRequest,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'promote-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    checkBodyDeploymentId(body, deployment) ??
    groupSelectionProblem(deployment, body) ??
    checkNotTerminal(deployment, 'promote terminal deployment')
  if (problem !== undefined) return err(problem)
  const { tables } = context.store
  const pendingGroups = groupsAwaitingPromotion(deployment)
  const requested = new Set(body.Groups)
  const groups =
    body.All === true ? pendingGroups : pendingGroups.filter((group) => requested.has(group))
  const unhealthy = promotionProblems(deployment, groups, (key) => tables.allocations.find(key))
  if (unhealthy.length > 0) return err(refusal('invalid-input', formatMultiError(unhealthy)))
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentPromotion',
      deployment,
      createsEvaluation: true,
      rows: (write) => promotionRows(tables, { deployment, groups }, write),
    }),
  )
}

/** Rejects unknown groups, because a misspelled group would otherwise appear to be promoted. */
function groupSelectionProblem(
  deployment: Deployment,
  body: DeploymentPromoteRequest,
): Refusal | undefined {
  if (body.All === true) return undefined
  const groups = body.Groups ?? []
  if (groups.length === 0)
    return refusal('invalid-input', 'must specify at least one task group, or all of them')
  const unknown = groups.find((group) => groupStateOf(deployment, group ?? '') === undefined)
  if (unknown === undefined) return undefined
  return refusal(
    'invalid-input',
    `task group "${unknown}" is not part of deployment "${deployment.ID}"`,
  )
}
