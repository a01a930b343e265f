import type { Evaluation } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { resolveIdPrefix } from '../find-id.ts'

export async function findEvaluation(
  { client, settings, signal }: CommandContext,
  given: string,
): Promise<Evaluation> {
  const namespace = settings.namespace ?? '*'
  return await resolveIdPrefix({
    noun: 'evaluation',
    input: given,
    listCommand: 'reeve eval list',
    search: (prefix) => client.pages('listEvaluations', { query: { prefix, namespace }, signal }),
    describe: ({ JobID, TriggeredBy, Status }) => `${JobID}, ${TriggeredBy}, ${Status}`,
  })
}
