import {
  failuresOfJob,
  type AllocationFailure,
  type AllocationStub,
  type Failure,
  type Job,
  type JobHealth,
} from '@reeve/contract'
import { ApiError, type ItemOf } from '@reeve/sdk'
import { readFailure } from '../alloc/failure-text.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { Paint } from '../output/style.ts'
import { table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import { hasFailingCheck } from '../watch/rollout-state.ts'
import { watchRollout } from '../watch/watch-rollout.ts'
import { childrenOf, isParent } from './children.ts'
import { findJob } from './find-job.ts'
import { jobText, type KnownFailures } from './job-text.ts'
import { regionsOfJob } from './regions-of-job.ts'

type JobStub = ItemOf<'listJobs'>

/** `job status`: the list, or one job with all that is asked of it first. */
export async function runJobStatus(invocation: Invocation): Promise<number> {
  const [given] = invocation.args
  if (given === undefined) return await showList(invocation)
  const stub = await findJob(invocation, given)
  return invocation.flags.has('watch')
    ? await watch(invocation, stub)
    : await showOne(invocation, stub)
}

interface JobList {
  readonly jobs: readonly JobStub[]
  readonly healths: ReadonlyMap<string, JobHealth>
}

async function showList(invocation: Invocation): Promise<number> {
  const { client, flags, output, settings } = invocation
  if (flags.has('watch')) throw new UsageError('--watch needs the job that is to be watched.')
  const jobs: JobStub[] = []
  const query = { filter: flags.text('filter'), prefix: flags.text('prefix') }
  for await (const job of client.pages('listJobs', { query })) jobs.push(job)
  const healths = output.isForMachines
    ? new Map<string, JobHealth>()
    : await healthsOf(invocation, jobs)
  output.show(jobs, () => {
    if (jobs.length > 0) return shortListText({ jobs, healths }, invocation)
    const { namespace = 'default' } = settings
    const where = namespace === '*' ? '' : ` in namespace "${namespace}"`
    return `There are no jobs${where}. "reeve job init" writes an example job file.`
  })
  return EXIT_CODES.ok
}

/** Children of periodic and parameterized jobs are left out, unless the list is restricted. */
function shortListText({ jobs, healths }: JobList, invocation: Invocation): string {
  const { flags } = invocation
  const isRestricted = flags.text('prefix') !== undefined || flags.text('filter') !== undefined
  if (isRestricted || flags.has('children')) return listText({ jobs, healths }, invocation)
  const children = jobs.filter(({ ParentID }) => ParentID !== '').length
  if (children === 0) return listText({ jobs, healths }, invocation)
  const note = `${children} child jobs are not listed; --children lists them.\n`
  const parents = jobs.filter(({ ParentID }) => ParentID === '')
  return `${listText({ jobs: parents, healths }, invocation)}${note}`
}

function listText({ jobs, healths }: JobList, { host, output, settings }: Invocation): string {
  const isEverywhere = settings.namespace === '*'
  const rows = jobs.map((job) => [
    job.ID,
    ...(isEverywhere ? [job.Namespace] : []),
    kindOf(job),
    String(job.Priority),
    statusOf(job, healths.get(keyOf(job)), output.paint),
    countsOf(job),
    agoFromNs(job.SubmitTime, host.nowMs()),
  ])
  const place = isEverywhere ? ['Namespace'] : []
  return table(['ID', ...place, 'Type', 'Priority', 'Status', 'Running', 'Submitted'], rows)
}

/** The health of the job; its status where the health is unknown. */
function statusOf(job: JobStub, health: JobHealth | undefined, paint: Paint): string {
  if (job.Quarantine !== undefined && !job.Stop) return paint('bad', 'quarantined')
  const word = health ?? (job.Stop ? 'stopped' : job.Status)
  return paint(toneOf(word), word)
}

function keyOf({ ID, Namespace }: Pick<JobStub, 'ID' | 'Namespace'>): string {
  return `${Namespace}\0${ID}`
}

/** Jobs per request for their health. */
const HEALTHS_AT_ONCE = 500

async function healthsOf(
  { client }: Invocation,
  jobs: readonly Pick<JobStub, 'ID' | 'Namespace'>[],
): Promise<ReadonlyMap<string, JobHealth>> {
  const healths = new Map<string, JobHealth>()
  for (let at = 0; at < jobs.length; at += HEALTHS_AT_ONCE) {
    const Jobs = jobs
      .slice(at, at + HEALTHS_AT_ONCE)
      .map(({ ID, Namespace }) => ({ ID, Namespace }))
    const { data } = await client.v1.listStatusesOfJobs({
      query: { counts: true, include_children: true, per_page: HEALTHS_AT_ONCE },
      body: { Jobs, IncludeChildren: true },
    })
    for (const row of data) healths.set(keyOf(row), row.Health)
  }
  return healths
}

function kindOf({ Type, Periodic, ParameterizedJob }: JobStub): string {
  return `${Type}${Periodic ? ', periodic' : ''}${ParameterizedJob ? ', parameterized' : ''}`
}

/** `2 (1 starting, 3 queued)`: what runs, and what should. */
function countsOf({ JobSummary }: JobStub): string {
  const groups = Object.values(JobSummary.Summary)
  const sum = (field: 'Running' | 'Starting' | 'Queued' | 'Failed'): number =>
    groups.reduce((total, group) => total + group[field], 0)
  const others = (['Starting', 'Queued', 'Failed'] as const)
    .filter((field) => sum(field) > 0)
    .map((field) => `${sum(field)} ${field.toLowerCase()}`)
  return `${sum('Running')}${others.length === 0 ? '' : ` (${others.join(', ')})`}`
}

async function showOne(invocation: Invocation, { ID, Namespace }: JobStub): Promise<number> {
  const { client, flags, output } = invocation
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const [job, summary, allocations, deployment, evaluations, services, healths] = await Promise.all(
    [
      client.v1.readJob(at),
      client.v1.readJobSummary(at),
      client.v1.listJobAllocations({ ...at, query: { ...at.query, all: flags.has('all') } }),
      client.v1.readLatestDeployment(at),
      client.v1.listJobEvaluations(at),
      client.v1.listJobServices(at),
      healthsOf(invocation, [{ ID, Namespace }]),
    ],
  )
  const children = isParent(job.data) ? await childrenOf(invocation, job.data) : []
  const healthsOfChildren = await healthsOf(invocation, children)
  const healthOfChild = (child: JobStub): JobHealth | undefined =>
    healthsOfChildren.get(keyOf(child))
  const failing = await newestFailure(
    invocation,
    children.find((one) => healthOfChild(one) === 'failing'),
  )
  const failures = await failuresFor(
    invocation,
    failing?.job ?? job.data,
    failing?.allocations ?? allocations.data,
  )
  const known = {
    job: job.data,
    health: healths.get(keyOf({ ID, Namespace })),
    summary: summary.data,
    allocations: allocations.data,
    deployment: deployment.data,
    evaluations: evaluations.data,
    children,
    healthOfChild,
    regions: await regionsOfJob(invocation, job.data),
    failures,
    failingServices: services.data.filter(
      (one) => hasFailingCheck(one) && !failures.all.some(({ AllocID }) => AllocID === one.AllocID),
    ),
    failingChild: failing?.job.ID,
  }
  const data = {
    Job: known.job,
    ...(known.health !== undefined && { Health: known.health }),
    Summary: known.summary,
    Allocations: known.allocations,
    LatestDeployment: known.deployment,
    Evaluations: known.evaluations,
    ...(known.children.length > 0 && { Children: known.children }),
    ...(known.failures.all.length > 0 && {
      Failures: [...known.failures.explained.values()],
    }),
    ...(known.regions.length > 0 && { Regions: known.regions }),
  }
  output.show(data, () => jobText(known, invocation))
  return EXIT_CODES.ok
}

/** The newest child job that failed, with its allocations. */
async function newestFailure({ client }: Invocation, child: JobStub | undefined) {
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

/** Failures that are explained; further ones are counted. */
const EXPLAINED_MAX = 3

async function failuresFor(
  invocation: Invocation,
  job: Job,
  allocations: readonly AllocationStub[],
): Promise<KnownFailures> {
  const all = failuresOfJob(job, allocations, invocation.host.nowMs())
  const explained = new Map<Failure, AllocationFailure>()
  for (const failure of all.slice(0, EXPLAINED_MAX)) {
    const { AllocID: ID } = failure
    const known = await readFailure(invocation, { ID, Namespace: job.Namespace })
    explained.set(failure, known ?? { Failure: failure, NextAttempt: null, Remedies: [] })
  }
  return { all, explained }
}

async function watch(invocation: Invocation, { ID, Namespace }: JobStub): Promise<number> {
  const { client, output } = invocation
  const query = { namespace: Namespace }
  const { data } = await client.v1.readLatestDeployment({ params: { job_id: ID }, query })
  if (data === null) {
    output.say(`Job "${ID}" has no deployment to watch: reeve job status ${ID}`)
    return EXIT_CODES.ok
  }
  const rollout = { namespace: Namespace, jobId: ID, evalId: '', deploymentId: data.ID }
  const { code, state } = await watchRollout(invocation, rollout)
  if (output.isForMachines) output.show(state, () => '')
  return code
}
