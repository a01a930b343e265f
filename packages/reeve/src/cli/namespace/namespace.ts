import type { Namespace, NamespaceRequest } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { undefinedIfNotFound } from '../resolve.ts'
import { renderNonEmptyFields, formatKeyValues, renderTable } from '../output/format.ts'
import { renderJson } from '../output/output.ts'
import { isFileName } from '../input.ts'
import type { DefinitionSchema } from '../definition-file.ts'
import { writeExample } from '../write-example.ts'

export async function runNamespaceList({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listNamespaces()
  output.print(data, () => {
    if (data.length === 0) return 'The token may see no namespace.'
    return renderTable(
      ['Name', 'Description'],
      data.map(({ Name, Description }) => [Name, Description]),
    )
  })
  return EXIT_CODES.ok
}

export async function runNamespaceStatus(invocation: CommandContext): Promise<number> {
  const { output } = invocation
  const data = await readNamespace(invocation)
  output.print(data, () => namespaceText(data))
  return EXIT_CODES.ok
}

export async function runNamespaceInspect(invocation: CommandContext): Promise<number> {
  const data = await readNamespace(invocation)
  invocation.output.print(data, () => renderJson(data))
  return EXIT_CODES.ok
}

async function readNamespace({ args, client }: CommandContext): Promise<Namespace> {
  const params = { namespace_name: args[0] ?? '' }
  return (await client.v1.readNamespace({ params })).data
}

function namespaceText(namespace: Namespace): string {
  const { Capabilities: capabilities, NodePoolConfiguration: pools } = namespace
  const names = (list: readonly string[] | null | undefined): string => (list ?? []).join(', ')
  return renderNonEmptyFields([
    ['Name', namespace.Name],
    ['Description', namespace.Description],
    ['Quota', namespace.Quota],
    ['Drivers', names(capabilities?.EnabledTaskDrivers)],
    ['Drivers not allowed', names(capabilities?.DisabledTaskDrivers)],
    ['Network modes', names(capabilities?.EnabledNetworkModes)],
    ['Network modes not allowed', names(capabilities?.DisabledNetworkModes)],
    ['Default node pool', pools?.Default ?? ''],
    ['Node pools', names(pools?.Allowed)],
    ['Node pools not allowed', names(pools?.Denied)],
    ['Meta', formatKeyValues(namespace.Meta)],
  ])
}

const NAMESPACE_SCHEMA: DefinitionSchema = {
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

/**
 * `namespace apply`: writes a namespace from a file, or by name with flags. Omitted flags keep
 * their values.
 */
export async function runNamespaceApply(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const given = args[0] ?? ''
  const body = isFileName(given)
    ? await namespaceFromFile(invocation, given)
    : await namespaceFromFlags(invocation, given)
  await client.v1.writeNamespace({ body })
  output.printLine(`Namespace "${body.Name ?? ''}" is stored.`)
  return EXIT_CODES.ok
}

async function namespaceFromFile(
  invocation: CommandContext,
  path: string,
): Promise<NamespaceRequest> {
  const { flags } = invocation
  if (flags.string('description') !== undefined || flags.strings('meta').length > 0) {
    throw new UsageError('give a file or flags, not both.')
  }
  const { readDefinition } = await import('../definition-file.ts')
  // Proof: the server validates the request and names invalid members.
  return await readDefinition(invocation, {
    path,
    blockName: 'namespace',
    schema: NAMESPACE_SCHEMA,
  })
}

async function namespaceFromFlags(
  invocation: CommandContext,
  name: string,
): Promise<NamespaceRequest> {
  const { client, flags } = invocation
  const known = await undefinedIfNotFound(() =>
    client.v1.readNamespace({ params: { namespace_name: name } }),
  )
  const description = flags.string('description')
  const meta = flags.strings('meta').length > 0 ? { Meta: flags.keyValues('meta') } : {}
  return {
    ...known?.data,
    Name: name,
    ...(description === undefined ? {} : { Description: description }),
    ...meta,
  }
}

export async function runNamespaceDelete({
  args,
  client,
  output,
}: CommandContext): Promise<number> {
  const name = args[0] ?? ''
  await client.v1.deleteNamespace({ params: { namespace_name: name } })
  output.printLine(`Namespace "${name}" is deleted.`)
  return EXIT_CODES.ok
}

const EXAMPLE = `name        = "staging"
description = "Jobs that are tested before they go to production"

meta {
  team = "web"
}

capabilities {
  enabled_task_drivers = ["exec", "docker"]
}

node_pool_config {
  default = "default"
  allowed = ["default"]
}
`

/** `namespace init`: writes an example that `namespace apply` accepts. */
export async function runNamespaceInit(invocation: CommandContext): Promise<number> {
  const file = invocation.args[0] ?? 'namespace.hcl'
  await writeExample(invocation, { file, text: EXAMPLE, next: [`reeve namespace apply ${file}`] })
  return EXIT_CODES.ok
}
