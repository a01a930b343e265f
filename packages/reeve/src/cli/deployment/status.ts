import { originText, type Deployment } from '@reeve/contract'
import { formatAllocationTable } from '../alloc/allocation-table.ts'
import type { AllocationStub } from '../alloc/find-allocation.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { renderNonEmptyFields, joinSections } from '../output/known-fields.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import { renderTable } from '../output/table.ts'
import { agoFromIso, agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import { monitorDeployment } from '../watch/watch-rollout.ts'
import { findDeployment } from './find-deployment.ts'
import { runDeploymentList } from './list.ts'

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
export async function watchDeployment(
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
