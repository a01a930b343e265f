import type { AuditVia } from '@reeve/contract'
import { isoFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { renderTable } from '../output/format.ts'

/** Entries shown by default. */
const DEFAULT_COUNT = 50

/** `audit list`: lists the audit trail of both APIs; requires a management token. */
export async function runAuditList(invocation: CommandContext): Promise<number> {
  const { client, flags, signal } = invocation
  const query = {
    actor: flags.string('actor'),
    action: flags.string('action'),
    resource: flags.string('resource'),
    ...parseTimeRange(invocation),
  }
  const records = client.pages('listAuditRecords', { query, signal })
  return await printTrail(invocation, records, (one) => ({
    time: one.Time,
    actor: one.Actor.Name || one.Actor.ID || one.Actor.Type,
    action: one.Action,
    resources: one.Resources,
    namespace: one.Namespace,
    status: one.Status,
    address: one.Via === undefined ? one.Address : `${one.Address} ${formatForwardedFrom(one.Via)}`,
  }))
}

/** Formats the region that forwarded the request, as reported by it. */
function formatForwardedFrom({ Region, Address }: AuditVia): string {
  return Address === '' ? `(region ${Region})` : `(region ${Region}, for ${Address})`
}

/** `org audit NAME`: lists the audit trail of an organization, for its owners. */
export async function runOrgAudit(invocation: CommandContext): Promise<number> {
  const { args, client, flags, signal } = invocation
  const entries = client.pages('listAuditTrail', {
    params: { organization_name: args[0] ?? '' },
    query: {
      'filter[actor]': flags.string('actor'),
      'filter[action]': flags.string('action'),
      'filter[resource]': flags.string('resource'),
      ...parseTimeRange(invocation),
    },
    signal,
  })
  return await printTrail(invocation, entries, ({ attributes }) => ({
    time: attributes.timestamp,
    actor: attributes['actor-name'] || attributes['actor-id'] || attributes['actor-type'],
    action: attributes.action,
    resources: attributes.resources,
    namespace: '',
    status: attributes.status,
    address: attributes.address,
  }))
}

/** An audit entry of either API. */
interface AuditEntry {
  readonly time: string
  readonly actor: string
  readonly action: string
  readonly resources: readonly string[]
  readonly namespace: string
  readonly status: number
  readonly address: string
}

async function printTrail<T>(
  { flags, output }: CommandContext,
  records: AsyncIterable<T>,
  writeOf: (record: T) => AuditEntry,
): Promise<number> {
  const count = flags.integer('count') ?? DEFAULT_COUNT
  const found: T[] = []
  let isCut = false
  for await (const one of records) {
    if (found.length === count) {
      isCut = true
      break
    }
    found.push(one)
  }
  const heading = ['Time', 'Who', 'Action', 'What', 'Namespace', 'Status', 'From']
  const row = (one: AuditEntry) => [
    one.time,
    one.actor,
    one.action,
    one.resources.join(', '),
    one.namespace,
    output.paint(one.status < 400 ? 'good' : 'bad', String(one.status)),
    one.address,
  ]
  output.print(found, () =>
    found.length === 0
      ? 'Nothing like that was written.'
      : renderTable(heading, found.map(writeOf).map(row)),
  )
  if (isCut) output.printNotice(`Only the newest ${count}: --count shows more.`)
  return EXIT_CODES.ok
}

function parseTimeRange({ flags, host }: CommandContext) {
  const timeOf = (name: string): string | undefined => {
    const text = flags.string(name)
    if (text === undefined) return undefined
    const ago = parseDurationMs(text)
    if (ago !== undefined) return isoFromMs(host.nowMs() - ago)
    if (Number.isNaN(Date.parse(text))) {
      throw new UsageError(`--${name} is a time, or how long ago it is such as 2h, not "${text}".`)
    }
    return text
  }
  return { since: timeOf('since'), until: timeOf('until') }
}
