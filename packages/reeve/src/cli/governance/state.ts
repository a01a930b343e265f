import {
  compareStates,
  isPlainObject,
  type ItemOf,
  type PlainObject,
  resource,
  type StateChange,
  toOne,
  valueText,
} from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import type { Paint } from '../output/color.ts'
import { renderNonEmptyFields, joinSections, renderTable } from '../output/format.ts'
import { findWorkspace } from './find.ts'
import { resolveOrganization } from './flags.ts'
import { printList } from './output.ts'

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

export async function runStateDiff(invocation: CommandContext): Promise<number> {
  const { args, output } = invocation
  const [workspace = '', from, to] = args
  const newer = await findStateVersion(invocation, workspace, to)
  const older =
    from === undefined
      ? await findPreviousVersion(invocation, workspace, newer)
      : await findStateVersion(invocation, workspace, from)
  const changes = compareStates(
    await readStateObject(invocation, older),
    await readStateObject(invocation, newer),
  )
  const versions = { from: older.id, to: newer.id }
  output.print({ ...versions, changes }, () => {
    const head = `Serial ${older.attributes.serial} -> ${newer.attributes.serial}`
    if (changes.length === 0) return `${head}: no differences.`
    return `${head}:\n${changes.flatMap((one) => changeLines(one, output.paint)).join('\n')}\n`
  })
  return EXIT_CODES.ok
}

/** Finds the version that was current before another one. */
async function findPreviousVersion(
  invocation: CommandContext,
  workspace: string,
  { id }: StateVersion,
): Promise<StateVersion> {
  let isPassed = false
  for await (const one of await listStateVersions(invocation, workspace)) {
    if (isPassed) return one
    isPassed = one.id === id
  }
  throw new CommandError(`Workspace "${workspace}" has only one state version.`)
}

async function readStateObject(
  invocation: CommandContext,
  version: StateVersion,
): Promise<PlainObject> {
  const state: unknown = JSON.parse(await downloadState(invocation, version))
  return isPlainObject(state) ? state : {}
}

const SYMBOLS = { added: '+', removed: '-', changed: '~' } as const

function changeLines(
  { action, address, attributes }: StateChange,
  paint: Paint,
): readonly string[] {
  const lines = attributes.map(({ name, before, after }) =>
    action === 'added' ? `    ${name}: ${after}` : `    ${name}: ${before} -> ${after}`,
  )
  return [`${paint(action, SYMBOLS[action])} ${address}`, ...lines]
}

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

type StateVersion = ItemOf<'listStateVersions'>

/** Lists the state versions of a workspace, newest first. */
async function listStateVersions(
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
async function findStateVersion(
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
async function downloadState(
  { client }: CommandContext,
  { id }: Pick<StateVersion, 'id'>,
): Promise<string> {
  const { data } = await client.v2.downloadState({ params: { state_version_id: id } })
  return new TextDecoder().decode(data)
}
