import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'
import { pluralize } from '../plan/metrics-text.ts'
import { findEvaluation } from './find-evaluation.ts'

/**
 * `eval delete`: deletes evaluations by ID or filter. The broker must be paused, so that no worker
 * processes them.
 */
export async function runEvalDelete(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const filter = flags.string('filter')
  if ((filter === undefined) === (args.length === 0)) {
    throw new UsageError('name evaluations, or give --filter, not both.')
  }
  await assertBrokerPaused(invocation)
  const body = filter === undefined ? { EvalIDs: await resolveIds(invocation) } : { Filter: filter }
  const { data } = await client.v1.deleteEvaluations({ body })
  output.printLine(`Deleted ${pluralize(data.Count, 'evaluation')}.`)
  return EXIT_CODES.ok
}

async function resolveIds(invocation: CommandContext): Promise<string[]> {
  const ids: string[] = []
  for (const given of invocation.args) ids.push((await findEvaluation(invocation, given)).ID)
  return ids
}

async function assertBrokerPaused({ client }: CommandContext): Promise<void> {
  const { data } = await client.v1.readSchedulerConfiguration()
  if (data.SchedulerConfig.PauseEvalBroker) return
  throw new CommandError('Evaluations can be deleted only while the broker is paused.', {
    hint:
      'Pause it with "reeve operator scheduler set-config --pause-eval-broker true", and let it ' +
      'go on with "... false" afterwards.',
  })
}
