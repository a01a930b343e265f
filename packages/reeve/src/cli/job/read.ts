import { originText, type JobDiff, type V1Routes, type PolicyVerdict } from '@reeve/contract'
import type { DataOf } from '@reeve/sdk'
import { formatAllocationTable } from '../alloc/allocation-text.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import { statusStyle, truncateToWidth } from '../output/color.ts'
import { shortenId, renderTable, agoFromNs } from '../output/format.ts'
import { renderJson } from '../output/output.ts'
import { escapeControlCharacters, escapeTerminalControls } from '../output/printable.ts'
import { formatDiff } from '../plan/plan-text.ts'
import { formatExplanation } from '../plan/placement-failures.ts'
import { formatPolicyResults } from '../governance/policy-results.ts'
import { formatDeploymentProgress } from '../monitor/deployment-text.ts'
import { listChildren, isParent, findJob } from './find-job.ts'

/** Child jobs whose allocations are listed; the newest ones. */
const CHILDREN_MAX = 20

/** `job allocs`: lists the allocations of a job or of its child jobs, newest first. */
export async function runJobAllocs(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const job = await findJob(invocation, args[0] ?? '')
  const { ID } = job
  const jobs = isParent(job) ? (await listChildren(invocation, job)).slice(0, CHILDREN_MAX) : [job]
  const lists = await Promise.all(
    jobs.map(({ ID: job_id, Namespace: namespace }) =>
      client.v1.listJobAllocations({
        params: { job_id },
        query: { namespace, all: flags.has('all') },
      }),
    ),
  )
  const data = lists.flatMap((list) => list.data)
  const group = flags.string('group')
  const wanted = group === undefined ? data : data.filter(({ TaskGroup }) => TaskGroup === group)
  const newest = wanted.toSorted((a, b) => b.CreateIndex - a.CreateIndex || (a.ID < b.ID ? -1 : 1))
  output.print(newest, () =>
    newest.length === 0
      ? `Job "${ID}" has no allocations. To see why: reeve job explain ${ID}`
      : formatAllocationTable(newest, invocation),
  )
  return EXIT_CODES.ok
}

/** `job deployments`: lists the deployments of a job; `--latest` shows the newest one in detail. */
export async function runJobDeployments(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output, host } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.listJobDeployments({
    params: { job_id: ID },
    query: { namespace: Namespace, all: flags.has('all') },
  })
  const newest = data.toSorted((a, b) => b.CreateIndex - a.CreateIndex)
  const [latest = null] = newest
  if (flags.has('latest') && latest !== null) {
    const state = { jobId: ID, evaluation: undefined, deployment: latest, allocations: [] }
    output.print(latest, () => formatDeploymentProgress(state, output.paint, host.nowMs()))
    return EXIT_CODES.ok
  }
  output.print(flags.has('latest') ? latest : newest, () => {
    if (newest.length === 0) return `Job "${ID}" has no deployments.`
    const rows = newest.map((one) => [
      flags.has('verbose') ? one.ID : shortenId(one.ID),
      String(one.JobVersion),
      output.paint(statusStyle(one.Status), one.Status),
      agoFromNs(one.CreateTime, host.nowMs()),
      one.StatusDescription,
    ])
    return renderTable(['ID', 'Version', 'Status', 'Created', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

/** `job explain`: explains failed placements and the smallest change that would place them. */
export async function runJobExplain(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.explainJob({
    params: { job_id: ID },
    query: {
      namespace: Namespace,
      by: flags.has('by-node') ? 'node' : undefined,
      limit: flags.integer('limit'),
    },
  })
  output.print(data, () => formatExplanation(data, output.paint))
  return data.Groups.some(({ Unplaced }) => Unplaced > 0) ? EXIT_CODES.unplaced : EXIT_CODES.ok
}

type Version = DataOf<V1Routes['listJobVersions']>['Versions'][number]

interface VersionView {
  readonly version: Version
  readonly diff: JobDiff | undefined
}

/** `job history`: lists the versions of a job and their changes. */
export async function runJobHistory(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const comparedVersion = flags.integer('diff-version')
  const tag = flags.string('diff-tag')
  const hasDiffs = flags.has('diff') || comparedVersion !== undefined || tag !== undefined
  const { data } = await client.v1.listJobVersions({
    params: { job_id: ID },
    query: { namespace: Namespace, diffs: hasDiffs, diff_version: comparedVersion, diff_tag: tag },
  })
  const all = data.Versions.map((version, at): VersionView => ({ version, diff: data.Diffs?.[at] }))
  const shown = selectVersion(all, flags.integer('version'), ID)
  const json = shown.map(({ version, diff }) => ({
    ...version,
    ...(hasDiffs ? { Diff: diff ?? null } : {}),
  }))
  output.print(json, () =>
    hasDiffs ? formatVersionDiffs(shown, invocation) : formatVersionList(shown, invocation),
  )
  return EXIT_CODES.ok
}

function selectVersion(
  all: readonly VersionView[],
  wanted: number | undefined,
  jobId: string,
): readonly VersionView[] {
  if (wanted === undefined) return all
  const found = all.filter(({ version }) => version.Version === wanted)
  if (found.length > 0) return found
  throw new CommandError(`Job "${jobId}" has no version ${wanted}.`, {
    code: EXIT_CODES.missing,
    hint: `It has ${all.map(({ version }) => version.Version).join(', ')}.`,
  })
}

function formatVersionList(
  shown: readonly VersionView[],
  { host, output }: CommandContext,
): string {
  const rows = shown.map(({ version }) => [
    String(version.Version),
    version.Stable ? output.paint('good', 'stable') : '',
    version.Stop ? 'stopped' : '',
    agoFromNs(version.SubmitTime, host.nowMs()),
    originText(version),
    truncateToWidth(escapeControlCharacters(version.Message ?? ''), MESSAGE_CHARS_SHOWN),
    version.VersionTag === null
      ? ''
      : escapeControlCharacters(`${version.VersionTag.Name} ${version.VersionTag.Description}`),
  ])
  return renderTable(
    ['Version', 'Stable', 'Stopped', 'Submitted', 'Origin', 'Message', 'Tag'],
    rows,
  )
}

/** `--json` and `--diff` show the whole message. */
const MESSAGE_CHARS_SHOWN = 60

function formatVersionDiffs(
  shown: readonly VersionView[],
  { flags, host, output }: CommandContext,
): string {
  return shown
    .map(({ version, diff }) => {
      const ago = agoFromNs(version.SubmitTime, host.nowMs())
      const head = output.paint(
        'strong',
        [
          `Version ${version.Version}, submitted ${ago}`,
          originText(version),
          escapeControlCharacters(version.Message ?? ''),
        ]
          .filter(Boolean)
          .join(', '),
      )
      return `${head}\n${diff === undefined ? 'The first that is known.\n' : formatDiff(diff, { paint: output.paint, isVerbose: flags.has('verbose') })}`
    })
    .join('\n')
}

/** `job inspect`: prints the stored job; `--hcl` prints the submitted source. */
export async function runJobInspect(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output, host } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const request = { params: { job_id: ID }, query: { namespace: Namespace } }
  const version = flags.integer('version')
  if (flags.has('hcl')) {
    const { data: job } = await client.v1.readJob(request)
    const query = { ...request.query, version: version ?? job.Version }
    const { data } = await client.v1.readJobSubmission({ params: request.params, query })
    const text = host.isTerminal ? escapeTerminalControls(data.Source) : data.Source
    host.out(text.endsWith('\n') ? text : `${text}\n`)
    return EXIT_CODES.ok
  }
  const job =
    version === undefined
      ? (await client.v1.readJob(request)).data
      : await findVersion(invocation, request, version)
  output.print({ Job: job }, () => renderJson({ Job: job }))
  return EXIT_CODES.ok
}

interface JobRequest {
  readonly params: { readonly job_id: string }
  readonly query: { readonly namespace: string }
}

async function findVersion({ client }: CommandContext, request: JobRequest, version: number) {
  const { data } = await client.v1.listJobVersions(request)
  const found = data.Versions.find(({ Version }) => Version === version)
  if (found !== undefined) return found
  throw new CommandError(`Job "${request.params.job_id}" has no version ${version}.`, {
    code: EXIT_CODES.missing,
    hint: `"reeve job history ${request.params.job_id}" lists the versions.`,
  })
}

/** `job verdicts JOB`: lists policy denials and overrides of a job. */
export async function runJobVerdicts(invocation: CommandContext): Promise<number> {
  const { args, output } = invocation
  const [given = ''] = args
  const namespace = invocation.settings.namespace ?? 'default'
  // A job whose registration was denied has policy decisions but does not exist.
  const exact = await listPolicyDecisions(invocation, given, namespace)
  const job = exact.length > 0 ? undefined : await findJob(invocation, given)
  const id = job?.ID ?? given
  const verdicts =
    job === undefined ? exact : await listPolicyDecisions(invocation, id, job.Namespace)
  output.print(verdicts, () =>
    verdicts.length === 0
      ? `No policy denied job "${id}", and none was overridden.`
      : formatPolicyDecisions(verdicts, invocation),
  )
  return EXIT_CODES.ok
}

async function listPolicyDecisions(
  { client, signal }: CommandContext,
  job_id: string,
  namespace: string,
): Promise<readonly PolicyVerdict[]> {
  const found: PolicyVerdict[] = []
  const request = { params: { job_id }, query: { namespace }, signal }
  for await (const one of client.pages('listJobVerdicts', request)) found.push(one)
  return found.toSorted((a, b) => b.CreateIndex - a.CreateIndex)
}

function formatPolicyDecisions(
  verdicts: readonly PolicyVerdict[],
  invocation: CommandContext,
): string {
  const { flags, host, output } = invocation
  const rows = verdicts.map((one) => [
    agoFromNs(one.Time, host.nowMs()),
    one.Operation,
    output.paint(one.Result === 'denied' ? 'bad' : 'warning', one.Result),
    one.TokenName,
    one.Outcomes.map(({ Policy }) => Policy).join(', '),
    one.Comment,
  ])
  const list = renderTable(['When', 'Operation', 'Result', 'Who', 'Policies', 'Why'], rows)
  if (!flags.has('verbose')) return list
  const details = verdicts.map(
    (one) =>
      `\n${agoFromNs(one.Time, host.nowMs())}: ${formatPolicyResults(one.Outcomes, output.paint)}\n`,
  )
  return list + details.join('')
}
