import type { PolicyVerdict } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { renderTable } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { formatPolicyResults } from '../plan/verdicts-text.ts'
import { findJob } from './find-job.ts'

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
