import type { DeploymentPauseRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { pauseDeployment, resumeDeployment, type Refusal } from '../../model/index.ts'
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

export interface PauseRequest {
  readonly id: string
  readonly body: DeploymentPauseRequest
}

/** Pauses a deployment, or resumes it with an immediate evaluation. */
export async function setPaused(
  context: WorkloadContext,
  caller: RequestCaller,
  { id, body }: PauseRequest,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'pause-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const pauses = body.Pause ?? false
  const problem =
    checkBodyDeploymentId(body, deployment) ??
    checkNotTerminal(deployment, `${pauses ? 'pause' : 'resume'} terminal deployment`)
  if (problem !== undefined) return err(problem)
  if (pauses === (deployment.Status === 'paused'))
    return ok(await unchangedDeployment(context, deployment))
  const { tables } = context.store
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      createsEvaluation: !pauses,
      rows: (write) => [
        put(
          'deployments',
          (pauses ? pauseDeployment : resumeDeployment)(deployment, write.stamp.timeMs),
        ),
        ...deploymentEvaluation(tables, deployment, write),
      ],
    }),
  )
}
