import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { resolveIdPrefix, isIdPrefix } from '../find-id.ts'
import { resolveOne } from '../prefix.ts'

export type VolumeStub = ItemOf<'listVolumes'>

const VOLUME_SEARCH_TEXTS = { noun: 'volume', listCommand: 'reeve volume list' }

/** The volume of this name or ID prefix. A name wins: it may consist of hex digits. */
export async function findVolume(invocation: CommandContext, given: string): Promise<VolumeStub> {
  const { client, settings, signal } = invocation
  const filter = `Name == ${JSON.stringify(given)}`
  const named: VolumeStub[] = []
  for await (const volume of client.pages('listVolumes', { query: { filter }, signal }))
    named.push(volume)
  if (named.length > 0 || !isIdPrefix(given)) {
    const where = `in namespace "${settings.namespace ?? 'default'}"`
    return resolveOne({
      ...VOLUME_SEARCH_TEXTS,
      input: given,
      scope: where,
      matches: named,
      idOf: ({ Name }) => Name,
      describe,
    })
  }
  return await resolveIdPrefix({
    ...VOLUME_SEARCH_TEXTS,
    input: given,
    search: (digits) => {
      // The server compares with whole IDs, whose first hyphen comes after the eighth digit.
      const query = { prefix: digits.slice(0, 8) }
      return client.pages('listVolumes', { query, signal })
    },
    describe: ({ Name, State }) => `${Name}, ${State}`,
  })
}

function describe({ ID, Namespace, NodeID, State }: VolumeStub): string {
  return `${ID}  in ${Namespace} on node ${NodeID}, ${State}`
}

/** The parameters of a request about a volume. */
export function volumeRequest({ ID, Namespace }: Pick<VolumeStub, 'ID' | 'Namespace'>) {
  return { params: { volume_id: ID }, query: { namespace: Namespace } }
}
