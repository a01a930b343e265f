import {
  checksText,
  FOLLOWED_LEVELS,
  type FuzzyMatch,
  type ServiceRegistration,
} from '@reeve/contract'
import { copyFrames } from '../alloc/streams.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { resolveNode } from '../node/find-node.ts'
import { formatId, resolveOne } from '../resolve.ts'
import { createOutputWriter, escapeControlCharacters } from '../output/printable.ts'
import { truncateToWidth } from '../output/color.ts'
import { joinSections, renderFields, renderTable } from '../output/format.ts'

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

/** `agent monitor`: the log of an agent until Ctrl-C, or until the agent ends. */
export async function runAgentMonitor(invocation: CommandContext): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const [node, server] = [flags.string('node'), flags.string('server')]
  if (node !== undefined && server !== undefined) {
    throw new UsageError('name a node or a server, not both.')
  }
  const query = {
    log_level: flags.oneOf('log-level', FOLLOWED_LEVELS) ?? 'info',
    log_json: flags.has('json'),
    ...(server !== undefined && { server_id: server }),
    ...(node !== undefined && { node_id: (await resolveNode({ ...invocation, args: [node] })).ID }),
  }
  const frames = client.frames('monitorAgent', { query, signal })
  await copyFrames(frames, createOutputWriter(host, 'stdout'), (what) => output.printNotice(what))
  output.printNotice('The agent closed the log stream.')
  return EXIT_CODES.ok
}

/** `agent info`: the statistics of the agent that answers, by part. */
export async function runAgentInfo({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readAgentSelf()
  output.print(data, () => {
    const { member, stats } = data
    const head = renderFields([
      ['Name', member.Name],
      ['Address', `${member.Addr}:${member.Port}`],
      ['Status', output.paint(member.Status === 'alive' ? 'good' : 'bad', member.Status)],
    ])
    const parts = Object.entries(stats)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([part, values]) => `${part}\n${renderFields(Object.entries(values))}`)
    return joinSections([head, ...parts])
  })
  return EXIT_CODES.ok
}

/** `search`: finds objects by ID or name prefix, or by substring with `--fuzzy`. */
export async function runSearch(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const text = args[0] ?? ''
  const Context = flags.string('context') ?? 'all'
  const { data } = flags.has('fuzzy')
    ? await client.v1.fuzzySearch({ body: { Text: text, Context } })
    : await client.v1.search({ body: { Prefix: text, Context } })
  const rows = Object.entries(data.Matches)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([context, matches]) => {
      const found: readonly (string | FuzzyMatch)[] = matches ?? []
      return found.map((match) => matchRow(context, match))
    })
  const truncated = Object.keys(data.Truncations).filter(
    (context) => data.Truncations[context] === true,
  )
  output.print(data, () =>
    rows.length === 0 ? 'No matches.' : renderTable(['In', 'Found', 'Where'], rows),
  )
  if (truncated.length > 0)
    output.printNotice(`More matches in ${truncated.join(', ')}: give more of the text.`)
  return EXIT_CODES.ok
}

function matchRow(context: string, match: string | FuzzyMatch): readonly string[] {
  if (typeof match === 'string') return [context, match, '']
  return [context, match.ID, (match.Scope ?? []).join(' / ')]
}
