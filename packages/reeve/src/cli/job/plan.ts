import type { DataOf } from '@reeve/sdk'
import type { V1Routes } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { readJobFile } from '../job-file/read-job-file.ts'
import { joinSections } from '../output/known-fields.ts'
import { formatDiff } from '../plan/diff-text.ts'
import { formatPlacementFailure, unplacedCount } from '../plan/metrics-text.ts'
import { jobFileArgs, suggestCommand } from '../plan/next-command.ts'
import { hasUpdates, formatUpdates } from '../plan/updates-text.ts'
import { isDenied, formatPolicyResults } from '../plan/verdicts-text.ts'
import { resolveJobNamespace } from './job-namespace.ts'
import { forRegionOfJob } from './job-region.ts'
import { withSourcePositions } from './problems.ts'

type Plan = DataOf<V1Routes['planJob']>

/** `job plan`: prints the dry run of the scheduler for a job file. */
export async function runJobPlan(invocation: CommandContext): Promise<number> {
  const { output, args, flags } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const { job } = read
  const regionContext = await forRegionOfJob(invocation, job)
  const { data } = await regionContext.client.v1
    .planJob({
      params: { job_id: job.ID },
      query: { namespace: resolveJobNamespace(invocation, job) },
      body: {
        Job: job,
        Diff: !flags.isNegated('diff'),
        PolicyOverride: flags.has('policy-override'),
      },
    })
    .catch(async (thrown: unknown) => {
      throw await withSourcePositions(thrown, regionContext, read)
    })
  output.print(data, () => formatPlan(data, invocation))
  return exitCodeForPlan(data)
}

/** Returns the exit code: the most severe result of the plan, for pipelines. */
function exitCodeForPlan(plan: Plan): number {
  if (isDenied(plan.PolicyVerdicts)) return EXIT_CODES.refusedByPolicy
  if (plan.FailedTGAllocs !== null) return EXIT_CODES.unplaced
  return hasChanges(plan) ? EXIT_CODES.changes : EXIT_CODES.ok
}

/** Whether the plan has changes. A new version is one, even without allocation changes. */
function hasChanges({ Annotations, Diff, JobModifyIndex }: Plan): boolean {
  if (JobModifyIndex === 0 || (Diff !== null && Diff.Type !== 'None')) return true
  return Object.values(Annotations.DesiredTGUpdates).some(hasUpdates)
}

function formatPlan(plan: Plan, invocation: CommandContext): string {
  const { paint } = invocation.output
  return joinSections([
    plan.Diff === null
      ? ''
      : formatDiff(plan.Diff, { paint, isVerbose: invocation.flags.has('verbose') }),
    `${paint('strong', 'What will happen')}\n${formatEffects(plan, invocation)}\n`,
    plan.PolicyVerdicts === null || plan.PolicyVerdicts.length === 0
      ? ''
      : `${paint('strong', 'Policies')}\n${formatPolicyResults(plan.PolicyVerdicts, paint)}\n`,
    plan.Warnings === '' ? '' : `${paint('warning', 'Warnings')}\n${plan.Warnings.trimEnd()}\n`,
    formatNextStep(plan, invocation),
  ])
}

function formatEffects(plan: Plan, { output: { paint } }: CommandContext): string {
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
      formatUpdates(name, updates, { paint, unplaced: unplacedCount(FailedTGAllocs?.[name]) }),
    ),
    ...displaced,
    ...failed.map(([name, metrics]) => formatPlacementFailure(name, metrics, paint)),
    ...launch,
  ]
  return lines.length === 0 ? 'Nothing is placed now.' : lines.join('\n')
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function formatNextStep(plan: Plan, invocation: CommandContext): string {
  const index = plan.JobModifyIndex
  if (isDenied(plan.PolicyVerdicts)) {
    const canOverride = (plan.PolicyVerdicts ?? []).every(
      ({ Effect, Overridable }) => Effect !== 'denies' || Overridable,
    )
    if (!canOverride) return 'It would be denied: change the job so that the policies pass.\n'
    const command = suggestRunCommand(invocation, index, ['--policy-override'])
    return `It would be denied. Whoever may override the policies runs it with:\n\n  ${command}\n`
  }
  if (!hasChanges(plan)) return 'Nothing would change.\n'
  const still =
    index === 0 ? 'nobody has made the job meanwhile' : 'nobody has changed it meanwhile'
  return `To run exactly this, if ${still}:\n\n  ${suggestRunCommand(invocation, index, [])}\n`
}

/** Returns the command that submits the planned job. Secrets are not repeated in it. */
function suggestRunCommand(
  invocation: CommandContext,
  index: number,
  more: readonly string[],
): string {
  const override = invocation.flags.has('policy-override') ? ['--policy-override'] : []
  const words = ['job', 'run', '--check-index', String(index), ...more, ...override]
  return suggestCommand(invocation, [...words, ...jobFileArgs(invocation)])
}
