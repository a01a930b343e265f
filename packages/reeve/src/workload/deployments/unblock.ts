import type { DeploymentUnblockRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { unblockDeployment as unblocked, type Refusal } from '../../model/index.ts'
import { put, rolloutEvaluation } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  endedProblem,
  findDeployment,
  namesDeployment,
  unchanged,
  type DeploymentWritten,
} from './deployment-writes.ts'

export interface UnblockRequest {
  readonly id: string
  readonly body: DeploymentUnblockRequest
}

/** Continues a deployment that waits for other regions. No effect on one that does not wait. */
export async function unblockDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: UnblockRequest,
): Promise<Result<DeploymentWritten, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'unblock-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    namesDeployment(body, deployment) ?? endedProblem(deployment, 'unblock terminal deployment')
  if (problem !== undefined) return err(problem)
  if (deployment.Status !== 'blocked') return ok(await unchanged(context, deployment))
  const { tables } = context.store
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      evaluates: true,
      rows: (write) => [
        put('deployments', unblocked(deployment, write.stamp.timeMs)),
        ...rolloutEvaluation(tables, deployment, write),
      ],
    }),
  )
}
