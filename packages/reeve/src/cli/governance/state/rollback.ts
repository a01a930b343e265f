import { resource, toOne } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findWorkspace } from '../find.ts'
import { findStateVersion } from './find-state.ts'

export async function runStateRollback(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const [name = '', version = ''] = args
  const workspace = await findWorkspace(invocation, name)
  const found = await findStateVersion(invocation, name, version)
  const { serial } = found.attributes
  await confirm(invocation, `Roll back the state of "${workspace.attributes.name}" to ${serial}?`)
  const params = { workspace_id: workspace.id }
  const reason = `Rollback to state version ${found.id}`
  await client.v2.lockWorkspace({ params, body: { reason } })
  try {
    const related = { 'rollback-state-version': toOne('state-versions', found.id) }
    const { data } = await client.v2.rollBackState({
      params,
      body: resource('state-versions', {}, related),
    })
    output.print(data, () => {
      const next = data.data.attributes.serial
      return `The state of serial ${serial} is current again, as serial ${next}.`
    })
  } finally {
    await client.v2.unlockWorkspace({ params })
  }
  return EXIT_CODES.ok
}
