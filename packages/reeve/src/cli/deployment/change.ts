import type { Deployment, DeploymentUpdateResponse } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortenId } from '../output/table.ts'
import { findDeployment } from './find-deployment.ts'
import { watchDeployment } from './status.ts'

export async function runDeploymentPromote(invocation: CommandContext): Promise<number> {
  const Groups = [...invocation.flags.strings('group')]
  return await updateDeployment(invocation, 'promoted', async ({ client }, call) => {
    const body = { DeploymentID: call.params.deployment_id, All: Groups.length === 0, Groups }
    return (await client.v1.promoteDeployment({ ...call, body })).data
  })
}

export async function runDeploymentFail(invocation: CommandContext): Promise<number> {
  return await updateDeployment(invocation, 'marked as failed', async ({ client }, call) => {
    return (await client.v1.failDeployment(call)).data
  })
}

export async function runDeploymentPause(invocation: CommandContext): Promise<number> {
  return await updateDeployment(invocation, 'paused', (own, call) => setPaused(own, call, true))
}

export async function runDeploymentResume(invocation: CommandContext): Promise<number> {
  return await updateDeployment(invocation, 'resumed', (own, call) => setPaused(own, call, false))
}

export async function runDeploymentUnblock(invocation: CommandContext): Promise<number> {
  return await updateDeployment(invocation, 'unblocked', async ({ client }, call) => {
    const body = { DeploymentID: call.params.deployment_id }
    return (await client.v1.unblockDeployment({ ...call, body })).data
  })
}

interface DeploymentCall {
  readonly params: { readonly deployment_id: string }
  readonly query: { readonly namespace: string }
}

async function setPaused({ client }: CommandContext, call: DeploymentCall, Pause: boolean) {
  const body = { DeploymentID: call.params.deployment_id, Pause }
  return (await client.v1.pauseDeployment({ ...call, body })).data
}

/** Results after which there is nothing to watch. */
const NOT_WATCHABLE: ReadonlySet<string> = new Set(['paused', 'marked as failed'])

async function updateDeployment(
  invocation: CommandContext,
  result: string,
  call: (invocation: CommandContext, call: DeploymentCall) => Promise<DeploymentUpdateResponse>,
): Promise<number> {
  const { args, flags, output } = invocation
  const deployment = await findDeployment(invocation, args[0] ?? '')
  const params = { deployment_id: deployment.ID }
  const response = await call(invocation, { params, query: { namespace: deployment.Namespace } })
  output.printLine(`${describeDeployment(deployment)} is ${result}.`)
  if (response.RevertedJobVersion !== null) {
    output.printLine(`The job goes back to version ${response.RevertedJobVersion}.`)
  }
  if (flags.has('detach') || NOT_WATCHABLE.has(result)) return EXIT_CODES.ok
  return await watchDeployment(invocation, deployment)
}

function describeDeployment({ ID, JobID, JobVersion }: Deployment): string {
  return `Deployment ${shortenId(ID)} (${JobID}, version ${JobVersion})`
}
