import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { fileBytes, fileJson } from '../../input.ts'
import { table } from '../../output/table.ts'
import { findPolicy } from '../find.ts'
import { findingText } from '../findings.ts'
import { given } from '../texts.ts'

/** `policy try POLICY INPUT`: the verdict, with the lines that made it. */
export async function runPolicyTry(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const { id, attributes } = await findPolicy(invocation, name)
  const input = await fileJson(invocation, file, v2.PLAN_UPLOAD_BYTES_MAX)
  const { data } = await client.v2.tryPolicy({
    params: { policy_id: id },
    body: resource('policy-trials', { input, ...(await changesOf(invocation)) }),
  })
  const { status, skipped, findings, diagnostics, warnings } = data.data.attributes
  const verdict = output.paint(status === 'passed' ? 'good' : 'bad', status)
  output.show(data, () =>
    [
      `Policy "${attributes.name}" ${skipped === undefined ? verdict : `was not asked: ${skipped}`}.`,
      ...findings.map((finding) => `  * ${findingText(finding)}`),
      ...diagnostics.map((one) => `  ${one.severity} ${one.line},${one.column}: ${one.message}`),
      ...warnings.map((warning) => `  warning: ${warning}`),
    ].join('\n'),
  )
  return status === 'passed' ? EXIT_CODES.ok : EXIT_CODES.refusedByPolicy
}

/** `policy replay POLICY`: a page of what has happened, judged again. */
export async function runPolicyReplay(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const { id } = await findPolicy(invocation, invocation.args[0] ?? '')
  const attributes = { ...given({ limit: flags.whole('limit') }), ...(await changesOf(invocation)) }
  const { data } = await client.v2.replayPolicy({
    params: { policy_id: id },
    body: resource('policy-replays', attributes),
  })
  const { judged, results, 'would-deny': count } = data.data.attributes
  output.show(data, () => {
    const objections = results.filter((one) => one.status !== 'passed')
    const rows = objections.map((one) => [
      one.type === 'runs' ? 'run' : 'job',
      one.version === null ? one.id : `${one.id} version ${one.version}`,
      one['created-at'] ?? '',
      one.findings.map(findingText).join('; '),
    ])
    const warned = objections.length - count
    const head = `Of ${judged} it would have denied ${count}, and warned of ${warned}.`
    return `${head}${skippedText(results)}\n${table(['', 'What', 'When', 'Why'], rows)}`
  })
  return EXIT_CODES.ok
}

function skippedText(results: readonly v2.ReplayedSubject[]): string {
  const reasons = results.flatMap(({ skipped }) => skipped ?? [])
  if (reasons.length === 0) return ''
  return ` It was not asked about ${reasons.length} more: ${[...new Set(reasons)].join(', ')}.`
}

/** What differs from the policy as it is stored. */
async function changesOf(invocation: Invocation) {
  const pairs = Object.entries(invocation.flags.pairs('param'))
  const params = Object.fromEntries(pairs.map(([key, text]) => [key, parameterOf(text)]))
  return given({
    code: await codeOf(invocation),
    params: pairs.length === 0 ? undefined : params,
  })
}

/** A value that reads as JSON is given to policies as that, another one as text. */
function parameterOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function codeOf(invocation: Invocation): Promise<string | undefined> {
  const file = invocation.flags.text('code')
  if (file === undefined) return undefined
  const bytes = await fileBytes(invocation, file, { bytesMax: v2.POLICY_UPLOAD_BYTES_MAX })
  return new TextDecoder().decode(bytes)
}
