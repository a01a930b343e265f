import type { MetricGauge } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import type { Finding } from './finding.ts'

const NODES_MAX = 1_000
const DAY_MS = 24 * 3_600_000
/** A certificate that ends sooner should be replaced now. */
const CERTIFICATE_DAYS_MIN = 14
/** Share of the disk below which the state may soon not grow. */
const FREE_RATIO_MIN = 0.1

type Told = Pick<MetricGauge, 'Name' | 'Value'>

/** What the server that answers says of its connections, its certificate and its disk. */
export async function serverIsSound({ client, host }: Invocation): Promise<readonly Finding[]> {
  const { data } = await client.v1.readMetrics()
  const { Gauges: gauges } = data
  const leads = valueOf(gauges, 'service_leader') === 1
  const ready = leads ? await readyNodes(client) : undefined
  return [
    ...connectionFindings(gauges, ready),
    ...certificateFindings(gauges, host.nowMs()),
    ...diskFindings(gauges),
  ]
}

async function readyNodes(client: Invocation['client']): Promise<number> {
  const { data } = await client.v1.listNodes({ query: { per_page: NODES_MAX } })
  return data.filter(({ Status }) => Status === 'ready').length
}

/**
 * Compares the connected nodes with the ready ones: a node keeps its status for a while after it
 * has lost its connection. Only the leader has connections of nodes, so other servers report none.
 */
export function connectionFindings(
  gauges: readonly Told[],
  ready: number | undefined,
): readonly Finding[] {
  const connected = valueOf(gauges, 'service_nodes_connected')
  if (ready === undefined || ready === 0 || connected === undefined) return []
  if (connected >= ready) return [well(`All nodes that are ready are connected (${connected}).`)]
  return [
    {
      state: connected === 0 ? 'bad' : 'warning',
      what: `${connected} of ${ready} nodes that are ready are connected to the leader.`,
      next:
        'The others keep their status for the heartbeat grace only. Look whether their agents run ' +
        'and reach the servers.',
    },
  ]
}

export function certificateFindings(gauges: readonly Told[], nowMs: number): readonly Finding[] {
  const expiry = valueOf(gauges, 'service_certificate_expiry_timestamp_seconds')
  if (expiry === undefined) return []
  const days = Math.floor((expiry * 1_000 - nowMs) / DAY_MS)
  if (days >= CERTIFICATE_DAYS_MIN)
    return [well(`The certificate of the server is valid for ${days} more days.`)]
  const until = new Date(expiry * 1_000).toISOString()
  return [
    {
      state: days < 0 ? 'bad' : 'warning',
      what: `The certificate of the server ${days < 0 ? 'was' : 'is'} valid until ${until}.`,
      next: 'Put a new one in its place and send SIGHUP to the agent (docs/how-to/tls.md).',
    },
  ]
}

export function diskFindings(gauges: readonly Told[]): readonly Finding[] {
  const ratio = valueOf(gauges, 'service_storage_free_ratio')
  if (ratio === undefined) return []
  const percent = Math.floor(ratio * 100)
  if (ratio >= FREE_RATIO_MIN) return [well(`The disk of the server has ${percent} % free.`)]
  return [
    {
      state: 'warning',
      what: `The disk of the server has only ${percent} % free.`,
      next:
        'On a full disk a server answers reads and accepts only what frees space ' +
        '(docs/how-to/back-up-and-restore.md).',
    },
  ]
}

function valueOf(gauges: readonly Told[], metric: string): number | undefined {
  return gauges.find(({ Name }) => Name === metric)?.Value
}

function well(what: string): Finding {
  return { state: 'ok', what, next: undefined }
}
