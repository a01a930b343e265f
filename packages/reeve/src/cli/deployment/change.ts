import type { Deployment, DeploymentUpdateResponse } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortId } from '../output/table.ts'
import { findDeployment } from './find-deployment.ts'
import { watchDeployment } from './status.ts'

export async function runDeploymentPromote(invocation: Invocation): Promise<number> {
  const Groups = [...invocation.flags.texts('group')]
  return await change(invocation, 'promoted', async ({ client }, call) => {
    const body = { DeploymentID: call.params.deployment_id, All: Groups.length === 0, Groups }
    return (await client.v1.promoteDeployment({ ...call, body })).data
  })
}

export async function runDeploymentFail(invocation: Invocation): Promise<number> {
  return await change(invocation, 'marked as failed', async ({ client }, call) => {
    return (await client.v1.failDeployment(call)).data
  })
}

export async function runDeploymentPause(invocation: Invocation): Promise<number> {
  return await change(invocation, 'paused', (own, call) => setPaused(own, call, true))
}

export async function runDeploymentResume(invocation: Invocation): Promise<number> {
  return await change(invocation, 'resumed', (own, call) => setPaused(own, call, false))
}

export async function runDeploymentUnblock(invocation: Invocation): Promise<number> {
  return await change(invocation, 'unblocked', async ({ client }, call) => {
    const body = { DeploymentID: call.params.deployment_id }
    return (await client.v1.unblockDeployment({ ...call, body })).data
  })
}

interface DeploymentCall {
  readonly params: { readonly deployment_id: string }
  readonly query: { readonly namespace: string }
}

async function setPaused({ client }: Invocation, call: DeploymentCall, Pause: boolean) {
  const body = { DeploymentID: call.params.deployment_id, Pause }
  return (await client.v1.pauseDeployment({ ...call, body })).data
}

/** Words that end in nothing to watch: the deployment stands still, or is over. */
const STILL: ReadonlySet<string> = new Set(['paused', 'marked as failed'])

async function change(
  invocation: Invocation,
  word: string,
  call: (invocation: Invocation, call: DeploymentCall) => Promise<DeploymentUpdateResponse>,
): Promise<number> {
  const { args, flags, output } = invocation
  const deployment = await findDeployment(invocation, args[0] ?? '')
  const params = { deployment_id: deployment.ID }
  const said = await call(invocation, { params, query: { namespace: deployment.Namespace } })
  output.say(`${nameOf(deployment)} is ${word}.`)
  if (said.RevertedJobVersion !== null) {
    output.say(`The job goes back to version ${said.RevertedJobVersion}.`)
  }
  if (flags.has('detach') || STILL.has(word)) return EXIT_CODES.ok
  return await watchDeployment(invocation, deployment)
}

function nameOf({ ID, JobID, JobVersion }: Deployment): string {
  return `Deployment ${shortId(ID)} (${JobID}, version ${JobVersion})`
}
