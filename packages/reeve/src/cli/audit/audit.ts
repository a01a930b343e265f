import type { AuditVia } from '@reeve/contract'
import { isoFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { table } from '../output/table.ts'

/** The newest are what people look for. */
const SHOWN_DEFAULT = 50

/** `audit list`: both APIs, for whoever may do everything. */
export async function runAuditList(invocation: Invocation): Promise<number> {
  const { client, flags, signal } = invocation
  const query = {
    actor: flags.text('actor'),
    action: flags.text('action'),
    resource: flags.text('resource'),
    ...timesOf(invocation),
  }
  const records = client.pages('listAuditRecords', { query, signal })
  return await showTrail(invocation, records, (one) => ({
    time: one.Time,
    who: one.Actor.Name || one.Actor.ID || one.Actor.Type,
    action: one.Action,
    resources: one.Resources,
    namespace: one.Namespace,
    status: one.Status,
    address: one.Via === undefined ? one.Address : `${one.Address} ${passedOn(one.Via)}`,
  }))
}

/** The server at the address is one of that region, or says so. */
function passedOn({ Region, Address }: AuditVia): string {
  return Address === '' ? `(region ${Region})` : `(region ${Region}, for ${Address})`
}

/** `org audit NAME`: one organization, for its owners. */
export async function runOrgAudit(invocation: Invocation): Promise<number> {
  const { args, client, flags, signal } = invocation
  const entries = client.pages('listAuditTrail', {
    params: { organization_name: args[0] ?? '' },
    query: {
      'filter[actor]': flags.text('actor'),
      'filter[action]': flags.text('action'),
      'filter[resource]': flags.text('resource'),
      ...timesOf(invocation),
    },
    signal,
  })
  return await showTrail(invocation, entries, ({ attributes }) => ({
    time: attributes.timestamp,
    who: attributes['actor-name'] || attributes['actor-id'] || attributes['actor-type'],
    action: attributes.action,
    resources: attributes.resources,
    namespace: '',
    status: attributes.status,
    address: attributes.address,
  }))
}

/** One write, whichever API tells of it. */
interface Write {
  readonly time: string
  readonly who: string
  readonly action: string
  readonly resources: readonly string[]
  readonly namespace: string
  readonly status: number
  readonly address: string
}

async function showTrail<T>(
  { flags, output }: Invocation,
  records: AsyncIterable<T>,
  writeOf: (record: T) => Write,
): Promise<number> {
  const count = flags.whole('count') ?? SHOWN_DEFAULT
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
  const row = (one: Write) => [
    one.time,
    one.who,
    one.action,
    one.resources.join(', '),
    one.namespace,
    output.paint(one.status < 400 ? 'good' : 'bad', String(one.status)),
    one.address,
  ]
  output.show(found, () =>
    found.length === 0
      ? 'Nothing like that was written.'
      : table(heading, found.map(writeOf).map(row)),
  )
  if (isCut) output.note(`Only the newest ${count}: --count shows more.`)
  return EXIT_CODES.ok
}

function timesOf({ flags, host }: Invocation) {
  const timeOf = (name: string): string | undefined => {
    const text = flags.text(name)
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
