import { err, ok, type Result } from '@reeve/kit/result.ts'
import { DEPLOYMENT_DESCRIPTIONS, type Refusal } from '../../model/index.ts'
import { failureRows, decideFailure } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  commitDeployment,
  checkNotTerminal,
  findDeployment,
  type DeploymentWriteResult,
} from './deployment-writes.ts'

/** Fails a deployment manually. The job is reverted if any group has AutoRevert. */
export async function failDeployment(
  context: WorkloadContext,
  caller: RequestCaller,
  id: string,
): Promise<Result<DeploymentWriteResult, Refusal>> {
  const found = findDeployment(context, caller, { id, capability: 'fail-deployment' })
  if (!found.ok) return found
  const deployment = found.value
  const terminalProblem = checkNotTerminal(deployment, 'fail terminal deployment')
  if (terminalProblem !== undefined) return err(terminalProblem)
  const { tables } = context.store
  const failure = decideFailure(tables, deployment, {
    description: DEPLOYMENT_DESCRIPTIONS.failedByUser,
    hasAutoRevert: Object.values(deployment.TaskGroups).some((state) => state.AutoRevert),
  })
  return ok(
    await commitDeployment(context, caller, {
      cause: 'DeploymentStatusUpdate',
      deployment,
      createsEvaluation: true,
      revertedJobVersion: failure.rollbackTarget?.Version,
      rows: (write) => failureRows(tables, failure, write),
    }),
  )
}
