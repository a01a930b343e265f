import type { MetricGauge } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { DAY_MS } from '../output/time.ts'
import type { Finding } from './finding.ts'

const NODES_PER_PAGE = 1_000
/** A certificate that ends sooner should be replaced now. */
const CERTIFICATE_DAYS_MIN = 14
/** Minimum share of free disk space; below it, writes may soon be rejected. */
const FREE_RATIO_MIN = 0.1

type Gauge = Pick<MetricGauge, 'Name' | 'Value'>

/** Checks the node connections, certificate and disk of the responding server. */
export async function checkServerHealth(invocation: CommandContext): Promise<readonly Finding[]> {
  const { client, host } = invocation
  const { data } = await client.v1.readMetrics()
  const { Gauges: gauges } = data
  const leads = gaugeValue(gauges, 'service_leader') === 1
  const ready = leads ? await countReadyNodes(invocation) : undefined
  return [
    ...connectionFindings(gauges, ready),
    ...certificateFindings(gauges, host.nowMs()),
    ...diskFindings(gauges),
  ]
}

export async function countReadyNodes({
  client,
  signal,
}: Pick<CommandContext, 'client' | 'signal'>): Promise<number> {
  let ready = 0
  const query = { per_page: NODES_PER_PAGE }
  for await (const { Status } of client.pages('listNodes', { query, signal }))
    if (Status === 'ready') ready += 1
  return ready
}

/**
 * Compares the connected nodes with the ready ones: a node keeps its status for a while after it
 * has lost its connection. Only the leader has connections of nodes, so other servers report none.
 */
export function connectionFindings(
  gauges: readonly Gauge[],
  ready: number | undefined,
): readonly Finding[] {
  const connected = gaugeValue(gauges, 'service_nodes_connected')
  if (ready === undefined || ready === 0 || connected === undefined) return []
  if (connected >= ready) return [okFinding(`All ready nodes are connected (${connected}).`)]
  return [
    {
      state: connected === 0 ? 'bad' : 'warning',
      what: `${connected} of ${ready} ready nodes are connected to the leader.`,
      next:
        'The others become "down" after the heartbeat grace period. Check that their agents run ' +
        'and reach the servers.',
    },
  ]
}

export function certificateFindings(gauges: readonly Gauge[], nowMs: number): readonly Finding[] {
  const expiry = gaugeValue(gauges, 'service_certificate_expiry_timestamp_seconds')
  if (expiry === undefined) return []
  const days = Math.floor((expiry * 1_000 - nowMs) / DAY_MS)
  if (days >= CERTIFICATE_DAYS_MIN)
    return [okFinding(`The certificate of the server is valid for ${days} more days.`)]
  const until = new Date(expiry * 1_000).toISOString()
  return [
    {
      state: days < 0 ? 'bad' : 'warning',
      what: `The certificate of the server ${days < 0 ? 'was' : 'is'} valid until ${until}.`,
      next: 'Replace it and send SIGHUP to the agent (docs/how-to/tls.md).',
    },
  ]
}

export function diskFindings(gauges: readonly Gauge[]): readonly Finding[] {
  const ratio = gaugeValue(gauges, 'service_storage_free_ratio')
  if (ratio === undefined) return []
  const percent = Math.floor(ratio * 100)
  if (ratio >= FREE_RATIO_MIN) return [okFinding(`The disk of the server has ${percent} % free.`)]
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

function gaugeValue(gauges: readonly Gauge[], metric: string): number | undefined {
  return gauges.find(({ Name }) => Name === metric)?.Value
}

function okFinding(what: string): Finding {
  return { state: 'ok', what, next: undefined }
}
