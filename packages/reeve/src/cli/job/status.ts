import {
  failuresOfJob,
  type AllocationFailure,
  type Failure,
  type Job,
  type JobFailureRecords,
  type JobHealth,
} from '@reeve/contract'
import { ApiError, type ItemOf } from '@reeve/sdk'
import { readFailureReport } from '../alloc/allocation-text.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { type Paint, statusStyle } from '../output/color.ts'
import { agoFromNs, renderTable } from '../output/format.ts'
import { suggestCommand } from '../plan/suggest-command.ts'
import { hasFailingCheck } from '../monitor/deployment-text.ts'
import { monitorDeployment } from '../monitor/deployment-monitor.ts'
import { listChildren, isParent, findJob } from './find-job.ts'
import { formatJob, type JobFailures, readJobRegions } from './job-text.ts'

type JobStub = ItemOf<'listJobs'>

/** `job status`: lists jobs, or shows one in detail. */
export async function runJobStatus(invocation: CommandContext): Promise<number> {
  const [given] = invocation.args
  if (given === undefined) return await printJobs(invocation)
  const stub = await findJob(invocation, given)
  return invocation.flags.has('watch')
    ? await watchLatestDeployment(invocation, stub)
    : await printJob(invocation, stub)
}

interface JobList {
  readonly jobs: readonly JobStub[]
  readonly healthByJob: ReadonlyMap<string, JobHealth>
}

async function printJobs(invocation: CommandContext): Promise<number> {
  const { client, flags, output, settings } = invocation
  if (flags.has('watch')) throw new UsageError('--watch needs the job that is to be watched.')
  const jobs: JobStub[] = []
  const query = { filter: flags.string('filter'), prefix: flags.string('prefix') }
  for await (const job of client.pages('listJobs', { query })) jobs.push(job)
  const healths = output.isStructured
    ? new Map<string, JobHealth>()
    : await readHealth(invocation, jobs)
  output.print(jobs, () => {
    if (jobs.length > 0) return formatJobList({ jobs, healthByJob: healths }, invocation)
    const { namespace = 'default' } = settings
    const where = namespace === '*' ? '' : ` in namespace "${namespace}"`
    return `There are no jobs${where}. "reeve job init" writes an example job file.`
  })
  return EXIT_CODES.ok
}

/** Children of periodic and parameterized jobs are left out, unless the list is restricted. */
function formatJobList({ jobs, healthByJob }: JobList, invocation: CommandContext): string {
  const { flags } = invocation
  const isRestricted = flags.string('prefix') !== undefined || flags.string('filter') !== undefined
  if (isRestricted || flags.has('children'))
    return formatJobTable({ jobs, healthByJob }, invocation)
  const children = jobs.filter(({ ParentID }) => ParentID !== '').length
  if (children === 0) return formatJobTable({ jobs, healthByJob }, invocation)
  const note = `${children} child jobs are not listed; --children lists them.\n`
  const parents = jobs.filter(({ ParentID }) => ParentID === '')
  return `${formatJobTable({ jobs: parents, healthByJob }, invocation)}${note}`
}

function formatJobTable(
  { jobs, healthByJob }: JobList,
  { host, output, settings }: CommandContext,
): string {
  const isEverywhere = settings.namespace === '*'
  const rows = jobs.map((job) => [
    job.ID,
    ...(isEverywhere ? [job.Namespace] : []),
    formatType(job),
    String(job.Priority),
    formatStatus(job, healthByJob.get(jobKey(job)), output.paint),
    formatCounts(job),
    agoFromNs(job.SubmitTime, host.nowMs()),
  ])
  const place = isEverywhere ? ['Namespace'] : []
  return renderTable(['ID', ...place, 'Type', 'Priority', 'Status', 'Running', 'Submitted'], rows)
}

/** The health of the job; its status where the health is unknown. */
function formatStatus(job: JobStub, health: JobHealth | undefined, paint: Paint): string {
  if (job.Quarantine !== undefined && !job.Stop) return paint('bad', 'quarantined')
  const word = health ?? (job.Stop ? 'stopped' : job.Status)
  return paint(statusStyle(word), word)
}

function jobKey({ ID, Namespace }: Pick<JobStub, 'ID' | 'Namespace'>): string {
  return `${Namespace}\0${ID}`
}

/** Jobs per request for their health. */
const JOBS_PER_HEALTH_REQUEST = 500

async function readHealth(
  { client }: CommandContext,
  jobs: readonly Pick<JobStub, 'ID' | 'Namespace'>[],
): Promise<ReadonlyMap<string, JobHealth>> {
  const healths = new Map<string, JobHealth>()
  for (let at = 0; at < jobs.length; at += JOBS_PER_HEALTH_REQUEST) {
    const Jobs = jobs
      .slice(at, at + JOBS_PER_HEALTH_REQUEST)
      .map(({ ID, Namespace }) => ({ ID, Namespace }))
    const { data } = await client.v1.listStatusesOfJobs({
      query: { counts: true, include_children: true, per_page: JOBS_PER_HEALTH_REQUEST },
      body: { Jobs, IncludeChildren: true },
    })
    for (const row of data) healths.set(jobKey(row), row.Health)
  }
  return healths
}

function formatType({ Type, Periodic, ParameterizedJob }: JobStub): string {
  return `${Type}${Periodic ? ', periodic' : ''}${ParameterizedJob ? ', parameterized' : ''}`
}

/** Formats allocation counts, such as `2 (1 starting, 3 queued)`. */
function formatCounts({ JobSummary }: JobStub): string {
  const groups = Object.values(JobSummary.Summary)
  const sum = (field: 'Running' | 'Starting' | 'Queued' | 'Failed'): number =>
    groups.reduce((total, group) => total + group[field], 0)
  const others = (['Starting', 'Queued', 'Failed'] as const)
    .filter((field) => sum(field) > 0)
    .map((field) => `${sum(field)} ${field.toLowerCase()}`)
  return `${sum('Running')}${others.length === 0 ? '' : ` (${others.join(', ')})`}`
}

async function printJob(invocation: CommandContext, { ID, Namespace }: JobStub): Promise<number> {
  const { client, flags, output } = invocation
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const [job, summary, allocations, deployment, evaluations, services, verdicts, healths] =
    await Promise.all([
      client.v1.readJob(at),
      client.v1.readJobSummary(at),
      client.v1.listJobAllocations({ ...at, query: { ...at.query, all: flags.has('all') } }),
      client.v1.readLatestDeployment(at),
      client.v1.listJobEvaluations(at),
      client.v1.listJobServices(at),
      client.v1.listJobVerdicts(at),
      readHealth(invocation, [{ ID, Namespace }]),
    ])
  const children = isParent(job.data) ? await listChildren(invocation, job.data) : []
  const healthsOfChildren = await readHealth(invocation, children)
  const healthOfChild = (child: JobStub): JobHealth | undefined =>
    healthsOfChildren.get(jobKey(child))
  const failing = await readFailingChild(
    invocation,
    children.find((one) => healthOfChild(one) === 'failing'),
  )
  const failures = await explainFailures(
    invocation,
    failing?.job ?? job.data,
    failing ?? {
      allocations: allocations.data,
      evaluations: evaluations.data,
      verdicts: verdicts.data,
    },
  )
  const view = {
    job: job.data,
    health: healths.get(jobKey({ ID, Namespace })),
    summary: summary.data,
    allocations: allocations.data,
    deployment: deployment.data,
    evaluations: evaluations.data,
    children,
    healthOfChild,
    regions: await readJobRegions(invocation, job.data),
    failures,
    failingServices: services.data.filter(
      (one) => hasFailingCheck(one) && !failures.all.some(({ AllocID }) => AllocID === one.AllocID),
    ),
    failingChild: failing?.job.ID,
  }
  const data = {
    Job: view.job,
    ...(view.health !== undefined && { Health: view.health }),
    Summary: view.summary,
    Allocations: view.allocations,
    LatestDeployment: view.deployment,
    Evaluations: view.evaluations,
    ...(view.children.length > 0 && { Children: view.children }),
    ...(view.failures.all.length > 0 && {
      Failures: [...view.failures.explained.values()],
    }),
    ...(view.regions.length > 0 && { Regions: view.regions }),
  }
  output.print(data, () => formatJob(view, invocation))
  return EXIT_CODES.ok
}

/** Reads a failing child job with its allocations; undefined if it was deleted. */
async function readFailingChild({ client }: CommandContext, child: JobStub | undefined) {
  if (child === undefined) return undefined
  const at = { params: { job_id: child.ID }, query: { namespace: child.Namespace } }
  try {
    const [job, allocations] = await Promise.all([
      client.v1.readJob(at),
      client.v1.listJobAllocations(at),
    ])
    return { job: job.data, allocations: allocations.data }
  } catch (thrown) {
    // The child may have been garbage-collected since it was listed.
    if (thrown instanceof ApiError && thrown.status === 404) return undefined
    throw thrown
  }
}

/** Failures with a report; further ones are only counted. */
const EXPLAINED_MAX = 3

async function explainFailures(
  invocation: CommandContext,
  job: Job,
  records: JobFailureRecords,
): Promise<JobFailures> {
  const all = failuresOfJob(job, records, invocation.host.nowMs())
  const explained = new Map<Failure, AllocationFailure>()
  for (const failure of all.slice(0, EXPLAINED_MAX)) {
    const { AllocID: ID } = failure
    const known =
      ID === '' ? undefined : await readFailureReport(invocation, { ID, Namespace: job.Namespace })
    const Remedies = jobRemedies(failure, job, invocation)
    explained.set(failure, known ?? { Failure: failure, NextAttempt: null, Remedies })
  }
  return { all, explained }
}

/** Returns the next steps after a failure that concerns no allocation. */
function jobRemedies(
  { Kind }: Failure,
  { ID, Namespace }: Job,
  invocation: CommandContext,
): AllocationFailure['Remedies'] {
  const suggest = (command: string) => suggestCommand(invocation, ['job', command, ID], Namespace)
  if (Kind === 'unplaced')
    return [{ Kind: 'explain-job', Text: 'Show what would help', Command: suggest('explain') }]
  return Kind === 'denied'
    ? [{ Kind: 'show-denial', Text: 'Show the denial', Command: suggest('verdicts') }]
    : []
}

async function watchLatestDeployment(
  invocation: CommandContext,
  { ID, Namespace }: JobStub,
): Promise<number> {
  const { client, output } = invocation
  const query = { namespace: Namespace }
  const { data } = await client.v1.readLatestDeployment({ params: { job_id: ID }, query })
  if (data === null) {
    output.printLine(`Job "${ID}" has no deployment to watch: reeve job status ${ID}`)
    return EXIT_CODES.ok
  }
  const rollout = { namespace: Namespace, jobId: ID, evalId: '', deploymentId: data.ID }
  const { code, state } = await monitorDeployment(invocation, rollout)
  if (output.isStructured) output.print(state, () => '')
  return code
}
