import type { Deployment } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { resolveIdPrefix } from '../find-id.ts'

export async function findDeployment(
  { client, settings, signal }: CommandContext,
  given: string,
): Promise<Deployment> {
  const namespace = settings.namespace ?? '*'
  return await resolveIdPrefix({
    noun: 'deployment',
    input: given,
    listCommand: 'reeve deployment list',
    search: (prefix) => client.pages('listDeployments', { query: { prefix, namespace }, signal }),
    describe: ({ JobID, JobVersion, Status }) => `${JobID}, version ${JobVersion}, ${Status}`,
  })
}
