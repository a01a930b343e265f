import type { Deployment, DeploymentPromoteRequest } from '@reeve/contract'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  groupsOnTrial,
  groupStateOf,
  promotionProblems,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import { promotionRows } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  endedProblem,
  findDeployment,
  namesDeployment,
  type DeploymentWritten,
} from './deployment-writes.ts'

export interface PromoteRequest {
  readonly id: string
  readonly body: DeploymentPromoteRequest
}

/**
 * The canaries of the groups are found good. All that are asked for or none: one group with too few
 * healthy ones refuses the whole request.
 */
export async function promoteDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: PromoteRequest,
): Promise<Result<DeploymentWritten, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'promote-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    namesDeployment(body, deployment) ??
    wishProblem(deployment, body) ??
    endedProblem(deployment, 'promote terminal deployment')
  if (problem !== undefined) return err(problem)
  const { tables } = context.store
  const onTrial = groupsOnTrial(deployment)
  const asked = new Set(body.Groups)
  const groups = body.All === true ? onTrial : onTrial.filter((group) => asked.has(group))
  const unhealthy = promotionProblems(deployment, groups, (key) => tables.allocations.find(key))
  if (unhealthy.length > 0) return err(refusal('invalid-input', formatMultiError(unhealthy)))
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentPromotion',
      deployment,
      evaluates: true,
      rows: (write) => promotionRows(tables, { deployment, groups }, write),
    }),
  )
}

/** A misspelled group would otherwise look promoted. */
function wishProblem(deployment: Deployment, body: DeploymentPromoteRequest): Refusal | undefined {
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
