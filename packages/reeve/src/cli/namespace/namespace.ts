import type { Namespace, NamespaceRequest } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { findOrUndefined } from '../find-or-undefined.ts'
import { knownFields, pairsText } from '../output/known-fields.ts'
import { renderJson } from '../output/output.ts'
import { table } from '../output/table.ts'
import { isFileName } from '../spec-file/file-text.ts'
import type { SpecShape } from '../spec-file/read-spec.ts'

export async function runNamespaceList({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.listNamespaces()
  output.show(data, () => {
    if (data.length === 0) return 'The token may see no namespace.'
    return table(
      ['Name', 'Description'],
      data.map(({ Name, Description }) => [Name, Description]),
    )
  })
  return EXIT_CODES.ok
}

export async function runNamespaceStatus(invocation: Invocation): Promise<number> {
  const { output } = invocation
  const data = await readNamespace(invocation)
  output.show(data, () => namespaceText(data))
  return EXIT_CODES.ok
}

export async function runNamespaceInspect(invocation: Invocation): Promise<number> {
  const data = await readNamespace(invocation)
  invocation.output.show(data, () => renderJson(data))
  return EXIT_CODES.ok
}

async function readNamespace({ args, client }: Invocation): Promise<Namespace> {
  const params = { namespace_name: args[0] ?? '' }
  return (await client.v1.readNamespace({ params })).data
}

function namespaceText(namespace: Namespace): string {
  const { Capabilities: may, NodePoolConfiguration: pools } = namespace
  const names = (list: readonly string[] | null | undefined): string => (list ?? []).join(', ')
  return knownFields([
    ['Name', namespace.Name],
    ['Description', namespace.Description],
    ['Quota', namespace.Quota],
    ['Drivers', names(may?.EnabledTaskDrivers)],
    ['Drivers not allowed', names(may?.DisabledTaskDrivers)],
    ['Network modes', names(may?.EnabledNetworkModes)],
    ['Network modes not allowed', names(may?.DisabledNetworkModes)],
    ['Default node pool', pools?.Default ?? ''],
    ['Node pools', names(pools?.Allowed)],
    ['Node pools not allowed', names(pools?.Denied)],
    ['Meta', pairsText(namespace.Meta)],
  ])
}

const SHAPE: SpecShape = {
  name: { wire: 'Name' },
  description: { wire: 'Description' },
  quota: { wire: 'Quota' },
  meta: { wire: 'Meta', block: 'map' },
  capabilities: {
    wire: 'Capabilities',
    block: {
      enabled_task_drivers: { wire: 'EnabledTaskDrivers' },
      disabled_task_drivers: { wire: 'DisabledTaskDrivers' },
      enabled_network_modes: { wire: 'EnabledNetworkModes' },
      disabled_network_modes: { wire: 'DisabledNetworkModes' },
    },
  },
  node_pool_config: {
    wire: 'NodePoolConfiguration',
    block: {
      default: { wire: 'Default' },
      allowed: { wire: 'Allowed' },
      denied: { wire: 'Denied' },
    },
  },
}

/** From a file, or by name with flags; what flags do not name stays as it is. */
export async function runNamespaceApply(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const given = args[0] ?? ''
  const body = isFileName(given)
    ? await namespaceInFile(invocation, given)
    : await changedNamespace(invocation, given)
  await client.v1.writeNamespace({ body })
  output.say(`Namespace "${body.Name ?? ''}" is stored.`)
  return EXIT_CODES.ok
}

async function namespaceInFile(invocation: Invocation, path: string): Promise<NamespaceRequest> {
  const { flags } = invocation
  if (flags.text('description') !== undefined || flags.texts('meta').length > 0) {
    throw new UsageError('give a file or flags, not both.')
  }
  const { readSpec } = await import('../spec-file/read-spec.ts')
  // The server holds what it is sent to the schema, and names the member that is wrong.
  return await readSpec(invocation, { path, around: 'namespace', shape: SHAPE })
}

async function changedNamespace(invocation: Invocation, name: string): Promise<NamespaceRequest> {
  const { client, flags } = invocation
  const known = await findOrUndefined(() =>
    client.v1.readNamespace({ params: { namespace_name: name } }),
  )
  const description = flags.text('description')
  const meta = flags.texts('meta').length > 0 ? { Meta: flags.pairs('meta') } : {}
  return {
    ...known?.data,
    Name: name,
    ...(description === undefined ? {} : { Description: description }),
    ...meta,
  }
}

export async function runNamespaceDelete({ args, client, output }: Invocation): Promise<number> {
  const name = args[0] ?? ''
  await client.v1.deleteNamespace({ params: { namespace_name: name } })
  output.say(`Namespace "${name}" is deleted.`)
  return EXIT_CODES.ok
}
