import type { PolicyVerdict } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { verdictsText } from '../plan/verdicts-text.ts'
import { findJob } from './find-job.ts'

/** `job verdicts JOB`: when policies denied it, or somebody passed over them. */
export async function runJobVerdicts(invocation: Invocation): Promise<number> {
  const { args, output } = invocation
  const [given = ''] = args
  const namespace = invocation.settings.namespace ?? 'default'
  // A job that was denied at once has verdicts and is not there.
  const exact = await verdictsOf(invocation, given, namespace)
  const job = exact.length > 0 ? undefined : await findJob(invocation, given)
  const id = job?.ID ?? given
  const verdicts = job === undefined ? exact : await verdictsOf(invocation, id, job.Namespace)
  output.show(verdicts, () =>
    verdicts.length === 0
      ? `No policy denied job "${id}", and none was overridden.`
      : verdictTexts(verdicts, invocation),
  )
  return EXIT_CODES.ok
}

async function verdictsOf(
  { client, signal }: Invocation,
  job_id: string,
  namespace: string,
): Promise<readonly PolicyVerdict[]> {
  const found: PolicyVerdict[] = []
  const request = { params: { job_id }, query: { namespace }, signal }
  for await (const one of client.pages('listJobVerdicts', request)) found.push(one)
  return found.toSorted((a, b) => b.CreateIndex - a.CreateIndex)
}

function verdictTexts(verdicts: readonly PolicyVerdict[], invocation: Invocation): string {
  const { flags, host, output } = invocation
  const rows = verdicts.map((one) => [
    agoFromNs(one.Time, host.nowMs()),
    one.Operation,
    output.paint(one.Result === 'denied' ? 'bad' : 'warning', one.Result),
    one.TokenName,
    one.Outcomes.map(({ Policy }) => Policy).join(', '),
    one.Comment,
  ])
  const list = table(['When', 'Operation', 'Result', 'Who', 'Policies', 'Why'], rows)
  if (!flags.has('verbose')) return list
  const said = verdicts.map(
    (one) =>
      `\n${agoFromNs(one.Time, host.nowMs())}: ${verdictsText(one.Outcomes, output.paint)}\n`,
  )
  return list + said.join('')
}
