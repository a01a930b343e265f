import { err, ok, type Result } from '@reeve/kit/result.ts'
import { DEPLOYMENT_TEXTS, type Refusal } from '../../model/index.ts'
import { failureRows, planFailure } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  endedProblem,
  findDeployment,
  type DeploymentWritten,
} from './deployment-writes.ts'

/** A person gives the deployment up. Any group that asked for it is reverted. */
export async function failDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  id: string,
): Promise<Result<DeploymentWritten, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'fail-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const ended = endedProblem(deployment, 'fail terminal deployment')
  if (ended !== undefined) return err(ended)
  const { tables } = context.store
  const failure = planFailure(tables, deployment, {
    text: DEPLOYMENT_TEXTS.failedByUser,
    reverts: Object.values(deployment.TaskGroups).some((state) => state.AutoRevert),
  })
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      evaluates: true,
      revertedJobVersion: failure.target?.Version,
      rows: (write) => failureRows(tables, failure, write),
    }),
  )
}
