import { valueText } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields, sections } from '../../output/known-fields.ts'
import { table } from '../../output/table.ts'
import { showList } from '../texts.ts'
import { findStateVersion, stateText, stateVersions } from './find-state.ts'

export async function runStateList(invocation: Invocation): Promise<number> {
  const versions = await stateVersions(invocation, invocation.args[0] ?? '')
  return await showList(invocation, versions, {
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

export async function runStateShow(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const found = await findStateVersion(invocation, args[0] ?? '', args[1])
  const params = { state_version_id: found.id }
  const { data } = await client.v2.readStateVersion({ params })
  const { data: outputs } = await client.v2.listStateVersionOutputs({ params })
  output.show({ ...data, outputs: outputs.data }, () => {
    const { id, attributes, relationships } = data.data
    const resources = attributes.resources ?? []
    const head = knownFields([
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
    return sections([
      head,
      rows.length === 0 ? '' : table(['Resource', 'Instances'], rows),
      values.length === 0 ? '' : table(['Output', 'Value'], values),
    ])
  })
  return EXIT_CODES.ok
}

export async function runStatePull(invocation: Invocation): Promise<number> {
  const { args, output } = invocation
  const found = await findStateVersion(invocation, args[0] ?? '', args[1])
  output.say((await stateText(invocation, found)).trimEnd())
  return EXIT_CODES.ok
}
