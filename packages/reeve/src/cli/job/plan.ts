import type { DataOf } from '@reeve/sdk'
import type { V1Routes } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { readJobFile } from '../job-file/read-job-file.ts'
import { sections } from '../output/known-fields.ts'
import { diffText } from '../plan/diff-text.ts'
import { metricsText, unplacedCount } from '../plan/metrics-text.ts'
import { fileWords, nextCommand } from '../plan/next-command.ts'
import { isChanging, updatesText } from '../plan/updates-text.ts'
import { isDenied, verdictsText } from '../plan/verdicts-text.ts'
import { jobNamespace } from './job-namespace.ts'
import { inRegionOfJob } from './job-region.ts'
import { withPlaces } from './problems.ts'

type Plan = DataOf<V1Routes['planJob']>

/** `job plan`: what a registration would do, decided by the scheduler itself. */
export async function runJobPlan(invocation: Invocation): Promise<number> {
  const { output, args, flags } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const { job } = read
  const asked = await inRegionOfJob(invocation, job)
  const { data } = await asked.client.v1
    .planJob({
      params: { job_id: job.ID },
      query: { namespace: jobNamespace(invocation, job) },
      body: { Job: job, Diff: !flags.isOff('diff'), PolicyOverride: flags.has('policy-override') },
    })
    .catch(async (thrown: unknown) => {
      throw await withPlaces(thrown, asked, read)
    })
  output.show(data, () => planText(data, invocation))
  return codeOf(data)
}

/** The most pressing of what the plan says: pipelines decide by it. */
function codeOf(plan: Plan): number {
  if (isDenied(plan.PolicyVerdicts)) return EXIT_CODES.refusedByPolicy
  if (plan.FailedTGAllocs !== null) return EXIT_CODES.unplaced
  return hasChanges(plan) ? EXIT_CODES.changes : EXIT_CODES.ok
}

/** A new version counts, also when no allocation has to move for it. */
function hasChanges({ Annotations, Diff, JobModifyIndex }: Plan): boolean {
  if (JobModifyIndex === 0 || (Diff !== null && Diff.Type !== 'None')) return true
  return Object.values(Annotations.DesiredTGUpdates).some(isChanging)
}

function planText(plan: Plan, invocation: Invocation): string {
  const { paint } = invocation.output
  return sections([
    plan.Diff === null
      ? ''
      : diffText(plan.Diff, { paint, isVerbose: invocation.flags.has('verbose') }),
    `${paint('strong', 'What will happen')}\n${happeningText(plan, invocation)}\n`,
    plan.PolicyVerdicts === null || plan.PolicyVerdicts.length === 0
      ? ''
      : `${paint('strong', 'Policies')}\n${verdictsText(plan.PolicyVerdicts, paint)}\n`,
    plan.Warnings === '' ? '' : `${paint('warning', 'Warnings')}\n${plan.Warnings.trimEnd()}\n`,
    nextText(plan, invocation),
  ])
}

function happeningText(plan: Plan, { output: { paint } }: Invocation): string {
  const { Annotations, FailedTGAllocs, NextPeriodicLaunch } = plan
  const groups = Object.entries(Annotations.DesiredTGUpdates).toSorted(byName)
  const failed = Object.entries(FailedTGAllocs ?? {}).toSorted(byName)
  const displaced = (Annotations.PreemptedAllocs ?? []).map(({ ID, JobID, Namespace }) => {
    return `Allocation ${ID.slice(0, 8)} of job "${JobID}" (namespace ${Namespace}) is displaced.`
  })
  const launch =
    Date.parse(NextPeriodicLaunch) > 0 ? [`It is launched next at ${NextPeriodicLaunch}.`] : []
  const lines = [
    ...groups.flatMap(([name, updates]) =>
      updatesText(name, updates, { paint, unplaced: unplacedCount(FailedTGAllocs?.[name]) }),
    ),
    ...displaced,
    ...failed.map(([name, metrics]) => metricsText(name, metrics, paint)),
    ...launch,
  ]
  return lines.length === 0 ? 'Nothing is placed now.' : lines.join('\n')
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function nextText(plan: Plan, invocation: Invocation): string {
  const index = plan.JobModifyIndex
  if (isDenied(plan.PolicyVerdicts)) {
    const canOverride = (plan.PolicyVerdicts ?? []).every(
      ({ Effect, Overridable }) => Effect !== 'denies' || Overridable,
    )
    if (!canOverride) return 'It would be denied: change the job so that the policies pass.\n'
    const command = runCommand(invocation, index, ['--policy-override'])
    return `It would be denied. Whoever may override the policies runs it with:\n\n  ${command}\n`
  }
  if (!hasChanges(plan)) return 'Nothing would change.\n'
  const still =
    index === 0 ? 'nobody has made the job meanwhile' : 'nobody has changed it meanwhile'
  return `To run exactly this, if ${still}:\n\n  ${runCommand(invocation, index, [])}\n`
}

/** The line that runs what was planned; secrets are not repeated in it. */
function runCommand(invocation: Invocation, index: number, more: readonly string[]): string {
  const override = invocation.flags.has('policy-override') ? ['--policy-override'] : []
  const words = ['job', 'run', '--check-index', String(index), ...more, ...override]
  return nextCommand(invocation, [...words, ...fileWords(invocation)])
}
