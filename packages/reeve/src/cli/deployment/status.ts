import { originText, type Deployment } from '@reeve/contract'
import { allocationTable } from '../alloc/allocation-table.ts'
import type { AllocationStub } from '../alloc/find-allocation.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { knownFields, sections } from '../output/known-fields.ts'
import { printableName } from '../output/printable.ts'
import { table } from '../output/table.ts'
import { agoFromIso, agoFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import { watchRollout } from '../watch/watch-rollout.ts'
import { findDeployment } from './find-deployment.ts'
import { runDeploymentList } from './list.ts'

export async function runDeploymentStatus(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const [given] = args
  if (given === undefined) return await runDeploymentList(invocation)
  const deployment = await findDeployment(invocation, given)
  if (flags.has('watch')) return await watchDeployment(invocation, deployment)
  const { ID, Namespace } = deployment
  const request = { params: { deployment_id: ID }, query: { namespace: Namespace } }
  const { data: allocations } = await client.v1.listDeploymentAllocations(request)
  output.show(deployment, () => deploymentText(deployment, allocations, invocation))
  return EXIT_CODES.ok
}

/** Until nothing more happens by itself. */
export async function watchDeployment(
  invocation: Invocation,
  { ID, JobID, Namespace }: Deployment,
): Promise<number> {
  const rollout = { namespace: Namespace, jobId: JobID, evalId: '', deploymentId: ID }
  return (await watchRollout(invocation, rollout)).code
}

function deploymentText(
  deployment: Deployment,
  allocations: readonly AllocationStub[],
  invocation: Invocation,
): string {
  const { host, output } = invocation
  const { Status } = deployment
  return sections([
    knownFields([
      ['ID', deployment.ID],
      ['Namespace', deployment.Namespace],
      ['Job', `${deployment.JobID}, version ${deployment.JobVersion}`],
      ['Status', output.paint(toneOf(Status), Status)],
      ['Description', deployment.StatusDescription],
      ['Origin', originText(deployment)],
      ['Message', printableName(deployment.Message ?? '')],
      ['Created', agoFromNs(deployment.CreateTime, host.nowMs())],
      ['Modified', agoFromNs(deployment.ModifyTime, host.nowMs())],
    ]),
    groupTable(deployment, invocation),
    allocations.length === 0 ? '' : `Allocations\n${allocationTable(allocations, invocation)}`,
  ])
}

function groupTable({ TaskGroups, Status }: Deployment, { host }: Invocation): string {
  const groups = Object.entries(TaskGroups).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const rows = groups.map(([name, group]) => [
    name,
    group.DesiredCanaries === 0 ? '' : group.Promoted ? 'yes' : 'no',
    String(group.DesiredTotal),
    group.DesiredCanaries === 0 ? '' : String(group.DesiredCanaries),
    String(group.PlacedAllocs),
    String(group.HealthyAllocs),
    String(group.UnhealthyAllocs),
    Status === 'running' ? untilText(group.RequireProgressBy, host.nowMs()) : '',
  ])
  const counts = ['Desired', 'Canaries', 'Placed', 'Healthy', 'Unhealthy']
  return table(['Group', 'Promoted', ...counts, 'Must progress'], rows)
}

function untilText(iso: string, nowMs: number): string {
  const ms = Date.parse(iso)
  if (Number.isNaN(ms) || ms <= 0) return ''
  return ms > nowMs ? `by ${iso.replace(/\.\d+Z$/, 'Z')}` : `since ${agoFromIso(iso, nowMs)}`
}
