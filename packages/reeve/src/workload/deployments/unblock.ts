import type { DeploymentUnblockRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { unblockDeployment as unblocked, type Refusal } from '../../model/index.ts'
import { put, deploymentEvaluation } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  checkNotTerminal,
  findDeployment,
  checkBodyDeploymentId,
  unchangedDeployment,
  type DeploymentWriteResult,
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
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'unblock-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const problem =
    checkBodyDeploymentId(body, deployment) ??
    checkNotTerminal(deployment, 'unblock terminal deployment')
  if (problem !== undefined) return err(problem)
  if (deployment.Status !== 'blocked') return ok(await unchangedDeployment(context, deployment))
  const { tables } = context.store
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      createsEvaluation: true,
      rows: (write) => [
        put('deployments', unblocked(deployment, write.stamp.timeMs)),
        ...deploymentEvaluation(tables, deployment, write),
      ],
    }),
  )
}
