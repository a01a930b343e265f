import type { DriverInfo, HostUsage, Node } from '@reeve/contract'
import { useSamples } from '../../charts/samples.ts'
import { Chart } from '../../components/lazy.tsx'
import { useApiQuery } from '../../data/api-query.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { dateFromText, formatBytes, formatMegabytes } from '../../format.ts'
import { DescriptionList, Panel } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'

/** The tab with capacity, usage, drivers and events of the node. */
export function NodeOverview({ node }: { readonly node: Node }) {
  return (
    <>
      <DrainNote node={node} />
      <Panel title="Capacity">
        <DescriptionList facts={capacityFacts(node)} />
      </Panel>
      {node.Status === 'ready' && <NodeUsage node={node} />}
      <Panel title="Drivers">
        <ul className="drivers">
          {Object.entries(node.Drivers).map(([name, driver]) => (
            <Driver key={name} name={name} driver={driver} />
          ))}
        </ul>
      </Panel>
      <Panel title="Events">
        <Events node={node} />
      </Panel>
    </>
  )
}

function DrainNote({ node }: { readonly node: Node }) {
  const { DrainStrategy: drain, LastDrain } = node
  if (drain !== null) {
    const deadline = dateFromText(drain.ForceDeadline)
    return (
      <p className="note tone-warn node-note">
        Draining, started <RelativeTime date={dateFromText(drain.StartedAt)} />.{' '}
        {deadline === undefined
          ? 'It has no deadline.'
          : `Remaining allocations are stopped at ${deadline.toISOString()}.`}
        {drain.IgnoreSystemJobs && ' System jobs keep running.'} <DrainProgress node={node} />
      </p>
    )
  }
  if (LastDrain === null) return null
  return (
    <p className="note tone-idle node-note">
      The last drain was {LastDrain.Status},{' '}
      <RelativeTime date={dateFromText(LastDrain.UpdatedAt)} />.
    </p>
  )
}

/** Progress of a drain: remaining and finished allocations, so that progress is visible. */
function DrainProgress({ node }: { readonly node: Node }) {
  const { data } = useApiQuery(
    ['node-drain', node.ID],
    (api, signal) => api.v1.listNodeAllocations({ params: { node_id: node.ID }, signal }),
    { watches: [{ topic: 'Allocation' }] },
  )
  if (data === undefined) return null
  const remaining = data.filter(({ ClientStatus }) =>
    NON_TERMINAL_STATUSES.includes(ClientStatus),
  ).length
  return (
    <strong role="status">
      {remaining === 0
        ? 'No allocations remaining.'
        : `${remaining} remaining, ${data.length - remaining} finished.`}
    </strong>
  )
}

const NON_TERMINAL_STATUSES: readonly string[] = ['pending', 'running', 'unknown']

function capacityFacts({ NodeResources, ReservedResources, HTTPAddr }: Node) {
  const { Cpu, Memory, Disk, Devices } = NodeResources
  return [
    { name: 'CPU', value: `${Cpu.CpuShares} MHz, ${Cpu.TotalCpuCores} cores` },
    { name: 'Memory', value: formatMegabytes(Memory.MemoryMB) },
    { name: 'Disk', value: formatMegabytes(Disk.DiskMB) },
    {
      name: 'Reserved',
      value: `${ReservedResources.Cpu.CpuShares} MHz, ${formatMegabytes(ReservedResources.Memory.MemoryMB)}`,
    },
    ...(Devices ?? []).map(({ Vendor, Type, Name, Instances }) => ({
      name: `${Vendor}/${Type}/${Name}`,
      value: `${Instances.filter(({ Healthy }) => Healthy).length} of ${Instances.length} healthy`,
    })),
    { name: 'Address', value: HTTPAddr },
  ]
}

function Driver({ name, driver }: { readonly name: string; readonly driver: DriverInfo }) {
  const { Detected, Healthy, HealthDescription } = driver
  const state = !Detected ? 'stopped' : Healthy ? 'healthy' : 'unhealthy'
  return (
    <li title={HealthDescription}>
      <StatusBadge state={state} text={Detected ? state : 'not detected'} /> <b>{name}</b>{' '}
      {!Healthy && <span className="quiet">{HealthDescription}</span>}
    </li>
  )
}

function Events({ node }: { readonly node: Node }) {
  const events = node.Events.toReversed()
  return (
    <ol className="timeline">
      {events.map(({ Message, Subsystem, Timestamp, Details, CreateIndex }, index) => (
        <li key={`${CreateIndex} ${index}`} className="tone-idle">
          <span className="timeline-when">
            <RelativeTime date={dateFromText(Timestamp)} />
          </span>
          <span className="timeline-what">
            {Message} <span className="tag">{Subsystem}</span>
            {Details !== null && Object.keys(Details).length > 0 && (
              <span className="timeline-text">
                {Object.entries(Details)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join(', ')}
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}

/** The measuring interval of nodes. */
const POLL_INTERVAL_MS = 2_000

/** CPU and memory usage of the machine; empty if its agent cannot be reached. */
function NodeUsage({ node }: { readonly node: Node }) {
  const { data } = useApiQuery(
    ['node-usage', node.ID],
    (api, signal) => api.v1.readClientStats({ query: { node_id: node.ID }, signal }),
    { pollIntervalMs: POLL_INTERVAL_MS },
  )
  if (data === undefined) return null
  return <Charts node={node} usage={data} />
}

function Charts({ node, usage }: { readonly node: Node; readonly usage: HostUsage }) {
  const { Memory, CPUTicksConsumed, Timestamp } = usage
  const { CpuShares } = node.NodeResources.Cpu
  const samples = useSamples(Timestamp / 1e9, [
    CPUTicksConsumed,
    CpuShares,
    Memory.Used,
    Memory.Total,
  ])
  const [times = [], cpu = [], cpuCapacity = [], memory = [], memoryCapacity = []] = samples
  return (
    <div className="charts">
      <Panel title={`CPU: ${Math.round(CPUTicksConsumed)} of ${CpuShares} MHz`}>
        <Chart
          label="CPU used by the machine, in MHz, over the last minutes"
          data={[times, cpu, cpuCapacity]}
          seriesNames={['Used', 'Capacity']}
          format={(value) => String(Math.round(value))}
        />
      </Panel>
      <Panel title={`Memory: ${formatBytes(Memory.Used)} of ${formatBytes(Memory.Total)}`}>
        <Chart
          label="Memory used by the machine over the last minutes"
          data={[times, memory, memoryCapacity]}
          seriesNames={['Used', 'Capacity']}
          format={formatBytes}
        />
      </Panel>
    </div>
  )
}
