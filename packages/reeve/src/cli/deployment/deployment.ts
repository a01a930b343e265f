import { type Deployment, type DeploymentUpdateResponse, originText } from '@reeve/contract'
import { formatAllocationTable } from '../alloc/allocation-text.ts'
import type { AllocationStub } from '../alloc/find-allocation.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { formatId, resolveIdPrefix } from '../resolve.ts'
import {
  agoFromIso,
  agoFromNs,
  joinSections,
  renderNonEmptyFields,
  renderTable,
  shortenId,
} from '../output/format.ts'
import { statusStyle } from '../output/color.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import { monitorDeployment } from '../monitor/deployment-monitor.ts'

export async function runDeploymentList(invocation: CommandContext): Promise<number> {
  const { client, flags, output, signal } = invocation
  const query = { filter: filterOf(invocation), reverse: true }
  const found: Deployment[] = []
  for await (const one of client.pages('listDeployments', { query, signal })) found.push(one)
  output.print(found, () => {
    if (found.length === 0) return 'There are no such deployments.'
    const rows = found.map((one) => [
      formatId(one.ID, flags.has('verbose')),
      one.JobID,
      String(one.JobVersion),
      output.paint(statusStyle(one.Status), one.Status),
      agoFromNs(one.CreateTime, invocation.host.nowMs()),
      one.StatusDescription,
    ])
    return renderTable(['ID', 'Job', 'Version', 'Status', 'Created', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

function filterOf({ flags }: CommandContext): string | undefined {
  const job = flags.string('job')
  const parts = [
    flags.string('filter'),
    job === undefined ? undefined : `JobID == ${JSON.stringify(job)}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.map((part) => `(${part})`).join(' and ')
}

export async function runDeploymentStatus(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const [given] = args
  if (given === undefined) return await runDeploymentList(invocation)
  const deployment = await findDeployment(invocation, given)
  if (flags.has('watch')) return await watchDeployment(invocation, deployment)
  const { ID, Namespace } = deployment
  const request = { params: { deployment_id: ID }, query: { namespace: Namespace } }
  const { data: allocations } = await client.v1.listDeploymentAllocations(request)
  output.print(deployment, () => deploymentText(deployment, allocations, invocation))
  return EXIT_CODES.ok
}

/** Monitors the deployment until it ends or needs a decision. */
async function watchDeployment(
  invocation: CommandContext,
  { ID, JobID, Namespace }: Deployment,
): Promise<number> {
  const rollout = { namespace: Namespace, jobId: JobID, evalId: '', deploymentId: ID }
  return (await monitorDeployment(invocation, rollout)).code
}

function deploymentText(
  deployment: Deployment,
  allocations: readonly AllocationStub[],
  invocation: CommandContext,
): string {
  const { host, output } = invocation
  const { Status } = deployment
  return joinSections([
    renderNonEmptyFields([
      ['ID', deployment.ID],
      ['Namespace', deployment.Namespace],
      ['Job', `${deployment.JobID}, version ${deployment.JobVersion}`],
      ['Status', output.paint(statusStyle(Status), Status)],
      ['Description', deployment.StatusDescription],
      ['Origin', originText(deployment)],
      ['Message', escapeControlCharacters(deployment.Message ?? '')],
      ['Created', agoFromNs(deployment.CreateTime, host.nowMs())],
      ['Modified', agoFromNs(deployment.ModifyTime, host.nowMs())],
    ]),
    formatGroups(deployment, invocation),
    allocations.length === 0
      ? ''
      : `Allocations\n${formatAllocationTable(allocations, invocation)}`,
  ])
}

function formatGroups({ TaskGroups, Status }: Deployment, { host }: CommandContext): string {
  const groups = Object.entries(TaskGroups).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const rows = groups.map(([name, group]) => [
    name,
    group.DesiredCanaries === 0 ? '' : group.Promoted ? 'yes' : 'no',
    String(group.DesiredTotal),
    group.DesiredCanaries === 0 ? '' : String(group.DesiredCanaries),
    String(group.PlacedAllocs),
    String(group.HealthyAllocs),
    String(group.UnhealthyAllocs),
    Status === 'running' ? formatProgressDeadline(group.RequireProgressBy, host.nowMs()) : '',
  ])
  const counts = ['Desired', 'Canaries', 'Placed', 'Healthy', 'Unhealthy']
  return renderTable(['Group', 'Promoted', ...counts, 'Must progress'], rows)
}

function formatProgressDeadline(iso: string, nowMs: number): string {
  const ms = Date.parse(iso)
  if (Number.isNaN(ms) || ms <= 0) return ''
  return ms > nowMs ? `by ${iso.replace(/\.\d+Z$/, 'Z')}` : `since ${agoFromIso(iso, nowMs)}`
}

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

async function findDeployment(
  { client, settings, signal }: CommandContext,
  given: string,
): Promise<Deployment> {
  const namespace = settings.namespace ?? '*'
  return await resolveIdPrefix({
    noun: 'deployment',
    input: given,
    listCommand: 'reeve deployment list',
    search: (prefix) => client.pages('listDeployments', { query: { prefix, namespace }, signal }),
    describe: ({ JobID, JobVersion, Status }) => `${JobID}, version ${JobVersion}, ${Status}`,
  })
}
