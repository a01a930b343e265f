import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { readFileOrStdin, readJsonObject } from '../../input.ts'
import { renderTable } from '../../output/table.ts'
import { findPolicy } from '../find.ts'
import { formatFinding } from '../findings.ts'
import { omitUndefined } from '../texts.ts'

/** `policy try POLICY INPUT`: evaluates a policy and prints its result and findings. */
export async function runPolicyTry(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const { id, attributes } = await findPolicy(invocation, name)
  const input = await readJsonObject(invocation, file, v2.PLAN_UPLOAD_BYTES_MAX)
  const { data } = await client.v2.tryPolicy({
    params: { policy_id: id },
    body: resource('policy-trials', { input, ...(await readOverrides(invocation)) }),
  })
  const { status, skipped, findings, diagnostics, warnings } = data.data.attributes
  const result = output.paint(status === 'passed' ? 'good' : 'bad', status)
  output.print(data, () =>
    [
      `Policy "${attributes.name}" ${skipped === undefined ? result : `was not asked: ${skipped}`}.`,
      ...findings.map((finding) => `  * ${formatFinding(finding)}`),
      ...diagnostics.map((one) => `  ${one.severity} ${one.line},${one.column}: ${one.message}`),
      ...warnings.map((warning) => `  warning: ${warning}`),
    ].join('\n'),
  )
  return status === 'passed' ? EXIT_CODES.ok : EXIT_CODES.refusedByPolicy
}

/** `policy replay POLICY`: evaluates a policy against past jobs and runs. */
export async function runPolicyReplay(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { id } = await findPolicy(invocation, invocation.args[0] ?? '')
  const attributes = {
    ...omitUndefined({ limit: flags.integer('limit') }),
    ...(await readOverrides(invocation)),
  }
  const { data } = await client.v2.replayPolicy({
    params: { policy_id: id },
    body: resource('policy-replays', attributes),
  })
  const { judged, results, 'would-deny': count } = data.data.attributes
  output.print(data, () => {
    const failedResults = results.filter((one) => one.status !== 'passed')
    const rows = failedResults.map((one) => [
      one.type === 'runs' ? 'run' : 'job',
      one.version === null ? one.id : `${one.id} version ${one.version}`,
      one['created-at'] ?? '',
      one.findings.map(formatFinding).join('; '),
    ])
    const warned = failedResults.length - count
    const head = `Of ${judged} it would have denied ${count}, and warned of ${warned}.`
    return `${head}${formatSkipped(results)}\n${renderTable(['', 'What', 'When', 'Why'], rows)}`
  })
  return EXIT_CODES.ok
}

function formatSkipped(results: readonly v2.ReplayedSubject[]): string {
  const reasons = results.flatMap(({ skipped }) => skipped ?? [])
  if (reasons.length === 0) return ''
  return ` It was not asked about ${reasons.length} more: ${[...new Set(reasons)].join(', ')}.`
}

/** Reads the flags that override the code and parameters of the stored policy. */
async function readOverrides(invocation: CommandContext) {
  const pairs = Object.entries(invocation.flags.keyValues('param'))
  const params = Object.fromEntries(pairs.map(([key, text]) => [key, parseParameter(text)]))
  return omitUndefined({
    code: await readCode(invocation),
    params: pairs.length === 0 ? undefined : params,
  })
}

/** Parses a parameter value as JSON, or else as text. */
function parseParameter(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function readCode(invocation: CommandContext): Promise<string | undefined> {
  const file = invocation.flags.string('code')
  if (file === undefined) return undefined
  const bytes = await readFileOrStdin(invocation, file, { bytesMax: v2.POLICY_UPLOAD_BYTES_MAX })
  return new TextDecoder().decode(bytes)
}
