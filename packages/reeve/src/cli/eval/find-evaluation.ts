import type { Evaluation } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { findById } from '../find-id.ts'

export async function findEvaluation(
  { client, settings, signal }: Invocation,
  given: string,
): Promise<Evaluation> {
  const namespace = settings.namespace ?? '*'
  return await findById({
    noun: 'evaluation',
    given,
    lists: 'reeve eval list',
    search: (prefix) => client.pages('listEvaluations', { query: { prefix, namespace }, signal }),
    describe: ({ JobID, TriggeredBy, Status }) => `${JobID}, ${TriggeredBy}, ${Status}`,
  })
}
