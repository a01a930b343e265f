import type { Deployment } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { findById } from '../find-id.ts'

export async function findDeployment(
  { client, settings, signal }: Invocation,
  given: string,
): Promise<Deployment> {
  const namespace = settings.namespace ?? '*'
  return await findById({
    noun: 'deployment',
    given,
    lists: 'reeve deployment list',
    search: (prefix) => client.pages('listDeployments', { query: { prefix, namespace }, signal }),
    describe: ({ JobID, JobVersion, Status }) => `${JobID}, version ${JobVersion}, ${Status}`,
  })
}
