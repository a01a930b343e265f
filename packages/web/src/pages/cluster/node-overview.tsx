import type { DriverInfo, Node } from '@reeve/contract'
import { useApiQuery } from '../../data/use-read.ts'
import { RelativeTime } from '../../parts/ago.tsx'
import { formatMegabytes } from '../../parts/bytes.ts'
import { DescriptionList, Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromText } from '../../parts/time.ts'
import { NodeUsage } from './node-usage.tsx'

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
        ? 'Nothing is left on it.'
        : `${remaining} still on it, ${data.length - remaining} gone.`}
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
      <StatusBadge state={state} text={Detected ? state : 'not there'} /> <b>{name}</b>{' '}
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
