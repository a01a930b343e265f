import { valueText } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields, joinSections } from '../../output/known-fields.ts'
import { renderTable } from '../../output/table.ts'
import { printList } from '../texts.ts'
import { findStateVersion, downloadState, listStateVersions } from './find-state.ts'

export async function runStateList(invocation: CommandContext): Promise<number> {
  const versions = await listStateVersions(invocation, invocation.args[0] ?? '')
  return await printList(invocation, versions, {
    heading: ['Serial', 'ID', 'Created', 'Resources', 'Run'],
    row: ({ id, attributes, relationships }) => [
      String(attributes.serial),
      id,
      attributes['created-at'],
      String(attributes['resource-count']),
      relationships.run.data?.id ?? '',
    ],
    empty: 'The workspace has no state.',
  })
}

export async function runStateShow(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const found = await findStateVersion(invocation, args[0] ?? '', args[1])
  const params = { state_version_id: found.id }
  const { data } = await client.v2.readStateVersion({ params })
  const { data: outputs } = await client.v2.listStateVersionOutputs({ params })
  output.print({ ...data, outputs: outputs.data }, () => {
    const { id, attributes, relationships } = data.data
    const resources = attributes.resources ?? []
    const head = renderNonEmptyFields([
      ['ID', id],
      ['Serial', String(attributes.serial)],
      ['Lineage', attributes.lineage ?? ''],
      ['Created', attributes['created-at']],
      ['Run', relationships.run.data?.id ?? ''],
      ['Tool version', attributes['tool-version'] ?? ''],
      ['Size', `${attributes.size} bytes`],
      ['Resources', String(attributes['resource-count'])],
    ])
    const rows = resources.map(({ module, type, name, count }) => [
      `${module === 'root' ? '' : `${module}.`}${type}.${name}`,
      String(count),
    ])
    const values = outputs.data.map(({ attributes: one }) => [
      one.name,
      one.sensitive ? '(sensitive)' : valueText(one.value),
    ])
    return joinSections([
      head,
      rows.length === 0 ? '' : renderTable(['Resource', 'Instances'], rows),
      values.length === 0 ? '' : renderTable(['Output', 'Value'], values),
    ])
  })
  return EXIT_CODES.ok
}

export async function runStatePull(invocation: CommandContext): Promise<number> {
  const { args, output } = invocation
  const found = await findStateVersion(invocation, args[0] ?? '', args[1])
  output.printLine((await downloadState(invocation, found)).trimEnd())
  return EXIT_CODES.ok
}
