import { checksText, type ServiceRegistration } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { idText } from '../find-id.ts'
import { printableName } from '../output/printable.ts'
import { cutTo } from '../output/style.ts'
import { table } from '../output/table.ts'
import { chooseOne } from '../prefix.ts'

export async function runServiceList({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.listServices()
  output.show(data, () => {
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
      : table(['Name', 'Namespace', 'Instances', 'Failing', 'Tags'], rows)
  })
  return EXIT_CODES.ok
}

export async function runServiceInfo(invocation: Invocation): Promise<number> {
  const { flags, output } = invocation
  const found = await instancesOf(invocation, invocation.args[0] ?? '')
  const isVerbose = flags.has('verbose')
  output.show(found, () => {
    const rows = found.map((one) => [
      ...(isVerbose ? [one.ID] : []),
      one.JobID,
      `${one.Address}:${one.Port}`,
      idText(one.NodeID, isVerbose),
      idText(one.AllocID, isVerbose),
      checksOf(one, output),
      (one.Tags ?? []).join(', '),
    ])
    const heading = ['Job', 'Address', 'Node', 'Allocation', 'Checks', 'Tags']
    return table([...(isVerbose ? ['ID'] : []), ...heading], rows)
  })
  return EXIT_CODES.ok
}

/** `--json` shows the whole output. */
const OUTPUT_CHARS_SHOWN = 60

/** How many checks pass, and what the first failing one received. */
export function checksOf(
  { Checks }: Pick<ServiceRegistration, 'Checks'>,
  { paint }: Pick<Invocation['output'], 'paint'>,
): string {
  if (Checks === undefined || Checks.Failing === 0) return checksText(Checks)
  const [line = ''] = Checks.Output.trim().split('\n')
  const shown = cutTo(printableName(line), OUTPUT_CHARS_SHOWN)
  return paint('bad', [checksText(Checks), shown].filter(Boolean).join(': '))
}

async function instancesOf(
  { client, flags, settings, signal }: Invocation,
  name: string,
): Promise<readonly ServiceRegistration[]> {
  const found: ServiceRegistration[] = []
  const query = { filter: flags.text('filter') }
  const request = { params: { service_name: name }, query, signal }
  for await (const one of client.pages('readService', request)) found.push(one)
  if (found.length > 0) return found
  const where = `in namespace "${settings.namespace ?? 'default'}"`
  throw new CommandFailure(`No instance of service "${name}" is registered ${where}.`, {
    code: EXIT_CODES.missing,
    hint: '"reeve service list --namespace \'*\'" shows what there is.',
  })
}

/** For registrations that nobody takes back any more. */
export async function runServiceDelete(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const [name = '', given = ''] = args
  const all = await instancesOf(invocation, name)
  const one = chooseOne({
    noun: 'instance',
    given,
    found: all.filter(({ ID }) => ID.startsWith(given)),
    idOf: ({ ID }) => ID,
    describe: ({ ID, Address, Port }) => `${ID}  ${Address}:${Port}`,
    where: `of service "${name}"`,
    lists: `reeve service info --verbose ${name}`,
  })
  const params = { service_name: name, registration_id: one.ID }
  await client.v1.deleteServiceRegistration({ params, query: { namespace: one.Namespace } })
  output.say(`Instance ${one.ID} of service "${name}" is no longer registered.`)
  return EXIT_CODES.ok
}
