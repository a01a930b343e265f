import { originText, type Job, type JobStatusAllocation } from '@reeve/contract'
import { RelativeTime } from '../../parts/ago.tsx'
import { DescriptionList, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { isActive, isParent } from '../../actions/job-can.ts'
import { ChildJobsPanel } from './children-panel.tsx'
import { DeploymentPanel } from './deployment-panel.tsx'
import {
  countAllocations,
  countsOfSummary,
  isTooLargeToList,
  hasAllocationList,
} from './allocation-counts.ts'
import { JobFailures } from './failure-banner.tsx'
import { useJobDeployments, useJobStatus, useJobSummary } from './job-data.ts'
import type { JobView } from './job-view.ts'
import { QuarantinePanel } from './quarantine-panel.tsx'
import { StatusPanel, type GroupAllocations } from './status-panel.tsx'
import { NextLaunchTime } from './next-launch-fact.tsx'
import { PlacementFailurePanel } from './why-panel.tsx'

/** The tab with the status, deployment and properties of the job. */
export function OverviewTab({ job, name }: JobView) {
  const { data: deployments } = useJobDeployments(name)
  const active = deployments?.find(isActive)
  return (
    <>
      {hasAllocationList(job) && <Failures job={job} name={name} />}
      {job.Quarantine !== undefined && <QuarantinePanel job={job} quarantine={job.Quarantine} />}
      {active !== undefined && (
        <DeploymentPanel deployment={active} title="Deployment in progress" />
      )}
      {isParent(job) ? <ChildJobsPanel job={job} /> : <AllocationStatus job={job} name={name} />}
      <Panel title="About">
        <DescriptionList facts={jobFacts(job)} />
      </Panel>
    </>
  )
}

interface JobPanelProps {
  readonly job: Job
  readonly name: JobName
}

/** Reads the allocations with their events only if one of them may have failed. */
function Failures({ job, name }: JobPanelProps) {
  const { data: rows } = useJobStatus(name, true)
  const allocations = rows?.find(({ ID }) => ID === job.ID)?.Allocs ?? []
  return !job.Stop && allocations.some(mayHaveFailed) && <JobFailures job={job} name={name} />
}

/** A running allocation may restart again and again. */
function mayHaveFailed({ ClientStatus, DeploymentStatus }: JobStatusAllocation): boolean {
  return ClientStatus !== 'complete' || DeploymentStatus.Healthy === false
}

function AllocationStatus({ job, name }: JobPanelProps) {
  return isTooLargeToList(job) ? (
    <CountedStatus job={job} name={name} />
  ) : (
    <ListedStatus job={job} name={name} />
  )
}

function ListedStatus({ job, name }: JobPanelProps) {
  const status = useJobStatus(name, true)
  return (
    <QueryView query={status} what="the state of the job">
      {(rows) => {
        const all = rows.find(({ ID }) => ID === job.ID)?.Allocs ?? []
        const byGroup = Map.groupBy(all, ({ Group }) => Group)
        const allocationsOf = (group: string) => {
          const allocations = byGroup.get(group) ?? []
          return { allocations, counts: countAllocations(allocations) }
        }
        return <StatusView job={job} allocationsOf={allocationsOf} />
      }}
    </QueryView>
  )
}

function CountedStatus({ job, name }: JobPanelProps) {
  const summary = useJobSummary(name, true)
  return (
    <QueryView query={summary} what="the state of the job">
      {({ Summary }) => {
        const allocationsOf = (group: string) => ({
          allocations: undefined,
          counts: countsOfSummary(Summary[group]),
        })
        return <StatusView job={job} allocationsOf={allocationsOf} />
      }}
    </QueryView>
  )
}

interface StatusViewProps {
  readonly job: Job
  readonly allocationsOf: (group: string) => GroupAllocations
}

function StatusView({ job, allocationsOf }: StatusViewProps) {
  const liveCount = job.TaskGroups.reduce((sum, { Name }) => {
    const { running, pending } = allocationsOf(Name).counts
    return sum + running + pending
  }, 0)
  return (
    <>
      <StatusPanel job={job} allocationsOf={allocationsOf} />
      <PlacementFailurePanel job={job} liveCount={liveCount} />
    </>
  )
}

function jobFacts(job: Job) {
  const links = job.UI?.Links ?? []
  return [
    { name: 'Id', value: <code>{job.ID}</code> },
    { name: 'Priority', value: job.Priority },
    { name: 'Datacenters', value: job.Datacenters.join(', ') },
    {
      name: 'Node pool',
      value: <Link href={paths.nodePool(job.NodePool)}>{job.NodePool}</Link>,
    },
    {
      name: 'Submitted',
      value: (
        <>
          <RelativeTime date={dateFromNs(job.SubmitTime)} /> {originText(job)}
        </>
      ),
    },
    ...(job.Message === undefined ? [] : [{ name: 'Message', value: job.Message }]),
    {
      name: 'Version',
      value: (
        <Link
          href={paths.jobVersions(
            { namespace: job.Namespace, id: job.ID },
            { version: job.Version },
          )}
        >
          {job.Version}
          {job.Stable ? ' (stable)' : ''}
        </Link>
      ),
    },
    ...(job.Periodic === null
      ? []
      : [
          {
            name: 'Launched',
            value: `${[job.Periodic.Spec, ...(job.Periodic.Specs ?? [])].filter(Boolean).join('; ')} (${job.Periodic.TimeZone})`,
          },
          { name: 'Next launch', value: <NextLaunchTime job={job} /> },
        ]),
    ...Object.entries(job.Meta ?? {}).map(([name, value]) => ({ name: `Meta ${name}`, value })),
    ...links
      // Only web links: the URL is untrusted input of the job author.
      .filter(({ URL: url }) => /^https?:\/\//.test(url))
      .map(({ Label, URL: url }) => ({
        name: 'Link',
        value: (
          <a href={url} rel="noreferrer noopener" target="_blank">
            {Label}
          </a>
        ),
      })),
  ]
}
