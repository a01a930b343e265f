import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { counted } from '../plan/metrics-text.ts'
import { findEvaluation } from './find-evaluation.ts'

/** By ids or by a filter; the broker must be paused, so that nobody works on what is deleted. */
export async function runEvalDelete(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const filter = flags.text('filter')
  if ((filter === undefined) === (args.length === 0)) {
    throw new UsageError('name evaluations, or give --filter, not both.')
  }
  await refuseWhileBrokerWorks(invocation)
  const body = filter === undefined ? { EvalIDs: await idsOf(invocation) } : { Filter: filter }
  const { data } = await client.v1.deleteEvaluations({ body })
  output.say(`Deleted ${counted(data.Count, 'evaluation')}.`)
  return EXIT_CODES.ok
}

async function idsOf(invocation: Invocation): Promise<string[]> {
  const ids: string[] = []
  for (const given of invocation.args) ids.push((await findEvaluation(invocation, given)).ID)
  return ids
}

async function refuseWhileBrokerWorks({ client }: Invocation): Promise<void> {
  const { data } = await client.v1.readSchedulerConfiguration()
  if (data.SchedulerConfig.PauseEvalBroker) return
  throw new CommandFailure('Evaluations can be deleted only while the broker is paused.', {
    hint:
      'Pause it with "reeve operator scheduler set-config --pause-eval-broker true", and let it ' +
      'go on with "... false" afterwards.',
  })
}
