import { originText, type Job, type JobStatusAllocation } from '@reeve/contract'
import { Ago } from '../../parts/ago.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { isActive, isParent } from '../../actions/job-can.ts'
import { ChildrenPanel } from './children-panel.tsx'
import { DeploymentPanel } from './deployment-panel.tsx'
import { countAllocations, countsOfSummary, isLarge, isListed } from './allocation-counts.ts'
import { JobFailures } from './failure-banner.tsx'
import { useJobDeployments, useJobStatus, useJobSummary } from './job-data.ts'
import type { JobView } from './job-view.ts'
import { QuarantinePanel } from './quarantine-panel.tsx'
import { StatusPanel, type GroupState } from './status-panel.tsx'
import { NextLaunch } from './next-launch-fact.tsx'
import { WhyPanel } from './why-panel.tsx'

/** How the job is, at one look. */
export function OverviewTab({ job, name }: JobView) {
  const { data: deployments } = useJobDeployments(name)
  const active = deployments?.find(isActive)
  return (
    <>
      {isListed(job) && <Failures job={job} name={name} />}
      {job.Quarantine !== undefined && <QuarantinePanel job={job} quarantine={job.Quarantine} />}
      {active !== undefined && (
        <DeploymentPanel deployment={active} title="Deployment in progress" />
      )}
      {isParent(job) ? <ChildrenPanel job={job} /> : <State job={job} name={name} />}
      <Panel title="About">
        <Facts facts={factsOf(job)} />
      </Panel>
    </>
  )
}

interface JobPart {
  readonly job: Job
  readonly name: JobName
}

/** Reads the allocations with their events only if one of them may have failed. */
function Failures({ job, name }: JobPart) {
  const { data: rows } = useJobStatus(name, true)
  const allocations = rows?.find(({ ID }) => ID === job.ID)?.Allocs ?? []
  return !job.Stop && allocations.some(mayFail) && <JobFailures job={job} name={name} />
}

/** A running allocation may restart again and again. */
function mayFail({ ClientStatus, DeploymentStatus }: JobStatusAllocation): boolean {
  return ClientStatus !== 'complete' || DeploymentStatus.Healthy === false
}

function State({ job, name }: JobPart) {
  return isLarge(job) ? (
    <CountedState job={job} name={name} />
  ) : (
    <ListedState job={job} name={name} />
  )
}

function ListedState({ job, name }: JobPart) {
  const status = useJobStatus(name, true)
  return (
    <QueryView query={status} what="the state of the job">
      {(rows) => {
        const all = rows.find(({ ID }) => ID === job.ID)?.Allocs ?? []
        const byGroup = Map.groupBy(all, ({ Group }) => Group)
        const stateOf = (group: string) => {
          const allocations = byGroup.get(group) ?? []
          return { allocations, counts: countAllocations(allocations) }
        }
        return <StateView job={job} stateOf={stateOf} />
      }}
    </QueryView>
  )
}

function CountedState({ job, name }: JobPart) {
  const summary = useJobSummary(name, true)
  return (
    <QueryView query={summary} what="the state of the job">
      {({ Summary }) => {
        const stateOf = (group: string) => ({
          allocations: undefined,
          counts: countsOfSummary(Summary[group]),
        })
        return <StateView job={job} stateOf={stateOf} />
      }}
    </QueryView>
  )
}

interface StateViewProps {
  readonly job: Job
  readonly stateOf: (group: string) => GroupState
}

function StateView({ job, stateOf }: StateViewProps) {
  const alive = job.TaskGroups.reduce((sum, { Name }) => {
    const { running, pending } = stateOf(Name).counts
    return sum + running + pending
  }, 0)
  return (
    <>
      <StatusPanel job={job} stateOf={stateOf} />
      <WhyPanel job={job} alive={alive} />
    </>
  )
}

function factsOf(job: Job) {
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
          <Ago date={dateOfNs(job.SubmitTime)} /> {originText(job)}
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
          { name: 'Next launch', value: <NextLaunch job={job} /> },
        ]),
    ...Object.entries(job.Meta ?? {}).map(([name, value]) => ({ name: `Meta ${name}`, value })),
    ...links
      // Only what a browser opens as a page: the text comes from whoever wrote the job.
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
