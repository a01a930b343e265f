import { useEffect, useEffectEvent } from 'react'
import { originText, type Job, type JobQuarantine } from '@reeve/contract'
import { ActionButton } from '../../components/action-button.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { DescriptionList, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { dateFromNs, dateFromText } from '../../format.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { isActive, isParent, jobDisabledReason } from '../../permissions/job.ts'
import { useSession } from '../../session/session.tsx'
import { ChildJobsPanel } from './child-jobs-panel.tsx'
import { DeploymentPanel } from './deployment-panel.tsx'
import {
  countAllocations,
  countsOfSummary,
  hasAllocationList,
  isTooLargeToList,
} from './allocation-counts.ts'
import { JobFailureBanner, JobFailures } from './failure-banner.tsx'
import {
  type JobView,
  useJobDeployments,
  useJobHealth,
  useJobStatus,
  useJobSummary,
} from './job-data.ts'
import { launchStaleMs, launchText, whyNotLaunched } from './scheduling.ts'
import { StatusPanel, type GroupAllocations } from './status-panel.tsx'

/** The tab with the status, deployment and properties of the job. */
export function OverviewTab({ job, name }: JobView) {
  const { data: deployments } = useJobDeployments(name)
  const active = deployments?.find(isActive)
  return (
    <>
      <Failures job={job} name={name} />
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

/** Reads the allocations with their events only if the job has a failure. */
function Failures({ job, name }: JobPanelProps) {
  // The head of the page reads the same: equal keys are one request.
  const isListed = hasAllocationList(job)
  const listed = useJobStatus(name, isListed)
  const counted = useJobHealth(name, !isListed)
  const { data: rows } = isListed ? listed : counted
  const failure = rows?.find(({ ID }) => ID === job.ID)?.Failure ?? null
  if (failure === null) return null
  return isTooLargeToList(job) ? (
    <JobFailureBanner job={name} failure={failure} />
  ) : (
    <JobFailures job={job} name={name} />
  )
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
    { name: 'ID', value: <code>{job.ID}</code> },
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

interface QuarantinePanelProps {
  readonly job: Job
  readonly quarantine: JobQuarantine
}

/** Explains why a quarantined job is not placed, with a button to release it. */
function QuarantinePanel({ job, quarantine }: QuarantinePanelProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const release = async () => {
    const title = `Release ${job.Name}?`
    const body = 'It is placed again. If it was the cause, it takes more nodes down.'
    if (!(await confirm({ title, body, action: 'Release the job', isDangerous: true }))) return
    const request = { params: { job_id: job.ID }, query: { namespace: job.Namespace } }
    await callApi({
      call: (api) => api.v1.releaseJob(request),
      successMessage: 'The job is released.',
    })
  }
  return (
    <Panel
      title="Quarantined"
      actions={
        <ActionButton
          disabledReason={jobDisabledReason.release(job, permissions)}
          onAction={release}
        >
          Release…
        </ActionButton>
      }
    >
      <p className="note tone-warn">
        {quarantine.Reason}. No allocation of it is placed until a new version is registered or the
        job is released.
      </p>
      <DescriptionList facts={quarantineFacts(quarantine)} />
    </Panel>
  )
}

function quarantineFacts({ Version, Time, NodeIDs }: JobQuarantine) {
  return [
    { name: 'Since', value: <RelativeTime date={dateFromNs(Time)} /> },
    { name: 'Quarantined version', value: Version },
    ...NodeIDs.map((id, index) => ({
      name: `Lost node ${index + 1}`,
      value: (
        <Link href={paths.node(id)}>
          <code>{id}</code>
        </Link>
      ),
    })),
  ]
}

interface PlacementFailurePanelProps {
  readonly job: Job
  /** Number of running and pending allocations. */
  readonly liveCount: number
}

/** A summary of the placement failures, with a link to the details. */
function PlacementFailurePanel({ job, liveCount }: PlacementFailurePanelProps) {
  const { Namespace: namespace, ID: id } = job
  const desired = job.TaskGroups.reduce((sum, { Count }) => sum + Count, 0)
  const hasUnplaced = !job.Stop && job.Status !== 'dead' && liveCount < desired
  const { data } = useApiQuery(
    ['job-explain', namespace, id],
    (api, signal) => api.v1.explainJob({ params: { job_id: id }, query: { namespace }, signal }),
    { enabled: hasUnplaced, watches: [{ topic: 'Evaluation', namespace, key: id }] },
  )
  // A banner above explains the groups that no node takes.
  const waiting = data?.Groups.flatMap(({ Instances }) => Instances) ?? []
  if (!hasUnplaced || waiting.every(({ State }) => State === 'refused')) return null
  return (
    <Panel
      title="Waiting allocations"
      actions={<Link href={paths.job({ namespace, id }, 'explain')}>Details</Link>}
    >
      <p className="note tone-warn">{data?.Text}</p>
    </Panel>
  )
}

/**
 * The next launch of a periodic job. It comes from a plan of the unchanged job, because only the
 * server evaluates schedules and time zones.
 */
function NextLaunchTime({ job }: { readonly job: Job }) {
  const { permissions } = useSession()
  const { ID, Namespace: namespace, JobModifyIndex } = job
  const noLaunchReason = whyNotLaunched(job) ?? jobDisabledReason.plan(job, permissions)
  const plan = useApiQuery(
    ['job-next-launch', namespace, ID, JobModifyIndex],
    async (api, signal) => {
      const params = { job_id: ID }
      const { data } = await api.v1.planJob({
        params,
        query: { namespace },
        body: { Job: job },
        signal,
      })
      const launch = dateFromText(data.NextPeriodicLaunch)
      return { data: { launch, keptMs: launchStaleMs(launch, Date.now()) } }
    },
    { enabled: noLaunchReason === undefined },
  )
  const refetchPlan = useEffectEvent(() => void plan.refetch())
  useEffect(() => {
    if (plan.data === undefined) return undefined
    const timer = setTimeout(() => refetchPlan(), plan.data.keptMs)
    return () => clearTimeout(timer)
  }, [plan.data])
  if (noLaunchReason !== undefined) return noLaunchReason
  return plan.data === undefined ? '–' : launchText(plan.data.launch, Date.now())
}
