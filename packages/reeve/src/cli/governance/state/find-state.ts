import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { CommandError } from '../../failure.ts'
import { findWorkspace } from '../find.ts'
import { resolveOrganization } from '../organization.ts'

export type StateVersion = ItemOf<'listStateVersions'>

/** Lists the state versions of a workspace, newest first. */
export async function listStateVersions(
  invocation: CommandContext,
  given: string,
): Promise<AsyncIterable<StateVersion>> {
  const workspace = await findWorkspace(invocation, given)
  const { organization_name } = await resolveOrganization(invocation)
  return invocation.client.pages('listStateVersions', {
    query: {
      'filter[workspace][name]': workspace.attributes.name,
      'filter[organization][name]': organization_name,
      'filter[status]': 'finalized',
    },
  })
}

/** Finds a state version of a workspace by ID or serial; the current one if none is given. */
export async function findStateVersion(
  invocation: CommandContext,
  given: string,
  version: string | undefined,
): Promise<StateVersion> {
  for await (const one of await listStateVersions(invocation, given)) {
    const isMeant = version === undefined || one.id === version
    if (isMeant || String(one.attributes.serial) === version) return one
  }
  const what = version === undefined ? 'no state' : `no state version "${version}"`
  throw new CommandError(`Workspace "${given}" has ${what}.`, {
    hint: `"reeve state list ${given}" lists its state versions.`,
  })
}

/** Downloads a state as it was uploaded. */
export async function downloadState(
  { client }: CommandContext,
  { id }: Pick<StateVersion, 'id'>,
): Promise<string> {
  const { data } = await client.v2.downloadState({ params: { state_version_id: id } })
  return new TextDecoder().decode(data)
}
