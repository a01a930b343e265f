import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { findJob } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** `job promote`: lets the canaries of the latest deployment take over. */
export async function runJobPromote(invocation: Invocation): Promise<number> {
  const { client, args, flags } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const query = { namespace: Namespace }
  const { data: deployment } = await client.v1.readLatestDeployment({
    params: { job_id: ID },
    query,
  })
  if (deployment === null) {
    throw new CommandFailure(`Job "${ID}" has no deployment.`, {
      code: EXIT_CODES.missing,
      hint: `Only a deployment with canaries can be promoted: reeve job deployments ${ID}`,
    })
  }
  const groups = flags.texts('group')
  const { data } = await client.v1.promoteDeployment({
    params: { deployment_id: deployment.ID },
    query,
    body: {
      DeploymentID: deployment.ID,
      ...(groups.length === 0 ? { All: true } : { Groups: groups }),
    },
  })
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID, deploymentId: deployment.ID },
    done: `The canaries of job "${ID}" are promoted.`,
  })
}
