import { checksText, type ServiceRegistration } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import { formatId, resolveOne } from '../resolve.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import { truncateToWidth } from '../output/color.ts'
import { renderTable } from '../output/format.ts'

export async function runServiceList({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listServices()
  output.print(data, () => {
    const rows = data.flatMap(({ Namespace, Services }) =>
      Services.map(({ ServiceName, Tags, Instances, Failing }) => [
        ServiceName,
        Namespace,
        String(Instances),
        Failing > 0 ? output.paint('bad', String(Failing)) : '0',
        Tags.join(', '),
      ]),
    )
    return rows.length === 0
      ? 'No services are registered.'
      : renderTable(['Name', 'Namespace', 'Instances', 'Failing', 'Tags'], rows)
  })
  return EXIT_CODES.ok
}

export async function runServiceInfo(invocation: CommandContext): Promise<number> {
  const { flags, output } = invocation
  const found = await findInstances(invocation, invocation.args[0] ?? '')
  const isVerbose = flags.has('verbose')
  output.print(found, () => {
    const rows = found.map((one) => [
      ...(isVerbose ? [one.ID] : []),
      one.JobID,
      `${one.Address}:${one.Port}`,
      formatId(one.NodeID, isVerbose),
      formatId(one.AllocID, isVerbose),
      formatCheckSummary(one, output),
      (one.Tags ?? []).join(', '),
    ])
    const heading = ['Job', 'Address', 'Node', 'Allocation', 'Checks', 'Tags']
    return renderTable([...(isVerbose ? ['ID'] : []), ...heading], rows)
  })
  return EXIT_CODES.ok
}

/** Characters of a check output that are shown; `--json` prints all of it. */
const OUTPUT_CHARS_SHOWN = 60

/** Formats the number of passing checks, and the output of the first failing one. */
export function formatCheckSummary(
  { Checks }: Pick<ServiceRegistration, 'Checks'>,
  { paint }: Pick<CommandContext['output'], 'paint'>,
): string {
  if (Checks === undefined || Checks.Failing === 0) return checksText(Checks)
  const [line = ''] = Checks.Output.trim().split('\n')
  const shown = truncateToWidth(escapeControlCharacters(line), OUTPUT_CHARS_SHOWN)
  return paint('bad', [checksText(Checks), shown].filter(Boolean).join(': '))
}

async function findInstances(
  { client, flags, settings, signal }: CommandContext,
  name: string,
): Promise<readonly ServiceRegistration[]> {
  const found: ServiceRegistration[] = []
  const query = { filter: flags.string('filter') }
  const request = { params: { service_name: name }, query, signal }
  for await (const one of client.pages('readService', request)) found.push(one)
  if (found.length > 0) return found
  const where = `in namespace "${settings.namespace ?? 'default'}"`
  throw new CommandError(`No instance of service "${name}" is registered ${where}.`, {
    code: EXIT_CODES.missing,
    hint: '"reeve service list --namespace \'*\'" shows what there is.',
  })
}

/** `service delete`: deletes a registration that its owner no longer removes. */
export async function runServiceDelete(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const [name = '', given = ''] = args
  const all = await findInstances(invocation, name)
  const one = resolveOne({
    noun: 'instance',
    input: given,
    matches: all.filter(({ ID }) => ID.startsWith(given)),
    idOf: ({ ID }) => ID,
    describe: ({ ID, Address, Port }) => `${ID}  ${Address}:${Port}`,
    scope: `of service "${name}"`,
    listCommand: `reeve service info --verbose ${name}`,
  })
  const params = { service_name: name, registration_id: one.ID }
  await client.v1.deleteServiceRegistration({ params, query: { namespace: one.Namespace } })
  output.printLine(`Instance ${one.ID} of service "${name}" is no longer registered.`)
  return EXIT_CODES.ok
}
