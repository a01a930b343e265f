import { toMany } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { findProject } from '../find.ts'

/** `project namespaces PROJECT`: assigns and unassigns namespaces and lists the result. */
export async function runProjectNamespaces(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const { id, attributes } = await findProject(invocation, args[0] ?? '')
  const params = { project_id: id }
  const [added, removed] = [flags.strings('add'), flags.strings('remove')]
  if (added.length > 0) {
    await client.v2.addProjectNamespaces({ params, body: toMany('namespaces', added) })
  }
  if (removed.length > 0) {
    await client.v2.removeProjectNamespaces({ params, body: toMany('namespaces', removed) })
  }
  const { data } = await client.v2.listProjectNamespaces({ params })
  output.print(data, () => {
    const names = data.data.map((namespace) => namespace.id)
    return names.length === 0
      ? `No namespace belongs to project "${attributes.name}".`
      : names.join('\n')
  })
  return EXIT_CODES.ok
}
