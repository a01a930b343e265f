import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { findJob } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

/** `job promote`: promotes the canaries of the latest deployment. */
export async function runJobPromote(invocation: CommandContext): Promise<number> {
  const { client, args, flags } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const query = { namespace: Namespace }
  const { data: deployment } = await client.v1.readLatestDeployment({
    params: { job_id: ID },
    query,
  })
  if (deployment === null) {
    throw new CommandError(`Job "${ID}" has no deployment.`, {
      code: EXIT_CODES.missing,
      hint: `Only a deployment with canaries can be promoted: reeve job deployments ${ID}`,
    })
  }
  const groups = flags.strings('group')
  const { data } = await client.v1.promoteDeployment({
    params: { deployment_id: deployment.ID },
    query,
    body: {
      DeploymentID: deployment.ID,
      ...(groups.length === 0 ? { All: true } : { Groups: groups }),
    },
  })
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID, deploymentId: deployment.ID },
    message: `The canaries of job "${ID}" are promoted.`,
  })
}
