import { followRunLog, formatLogLine } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandError } from '../../failure.ts'

export async function runRunLog(invocation: CommandContext): Promise<number> {
  const { client, output, signal } = invocation
  const url = await findLogUrl(invocation)
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of followRunLog(client, { url, signal })) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) output.printLine(formatLogLine(line))
  }
  if (rest !== '') output.printLine(formatLogLine(rest))
  return EXIT_CODES.ok
}

/** Returns the address of the log of the named phase, or of the latest one. */
async function findLogUrl({ args, client, flags }: CommandContext): Promise<string> {
  const [runId = ''] = args
  const phase = flags.string('phase')
  if (phase !== undefined && phase !== 'plan' && phase !== 'apply')
    throw new CommandError(`"${phase}" is no phase: it is plan or apply.`)
  const { data: run } = await client.v2.readRun({ params: { run_id: runId } })
  const { plan, apply } = run.data.relationships
  const hasApply = run.data.attributes['status-timestamps']['apply-queued-at'] !== undefined
  if (apply.data !== null && (phase === 'apply' || (phase === undefined && hasApply))) {
    const { data } = await client.v2.readApply({ params: { apply_id: apply.data.id } })
    if (data.data.attributes['log-read-url'] !== null) return data.data.attributes['log-read-url']
  }
  const { data } = await client.v2.readPlan({ params: { plan_id: plan.data.id } })
  const url = data.data.attributes['log-read-url']
  if (url !== null) return url
  throw new CommandError(`Run "${runId}" has no log: its plan was uploaded.`, {
    hint: `"reeve run show ${runId}" shows what it changes.`,
  })
}
